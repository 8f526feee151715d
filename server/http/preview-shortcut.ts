import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { ConfigBytes } from '../ignition/sheet.ts';
import type { HostSpec } from '../inventory/model.ts';
import { API_HEADER, API_VERSION } from './api-header.ts';
import type { HttpContext } from './context.ts';
import { isMachine, PREVIEW_HEADERS } from './ignition.ts';
import { SendBuffers } from './send-buffers.ts';

const PATH = '/ignition/';
const HEADERS = { ...PREVIEW_HEADERS, [API_HEADER]: API_VERSION };

/**
 * Answers the plainest question for a configuration, `GET /ignition/HOST`, before Fastify sees it: to find the route,
 * to check a query that isn't there and to run the hooks takes as long as Node takes for all the rest. Whatever is not
 * as plain as that, and whatever goes wrong, is the route's.
 */
export function withPreviewShortcut(context: HttpContext, app: RequestListener): RequestListener {
  const buffers = new SendBuffers();
  return (request, response) => {
    const host = hostOf(context, request);
    if (host === undefined) return app(request, response);
    const kept = context.renderer.kept(host, 'system');
    if (kept !== undefined && !('problems' in kept)) return send(response, kept, buffers);
    const pass = (): void => app(request, response);
    context.renderer
      .preview(host, 'system')
      .then((made) => ('problems' in made ? pass() : send(response, made, buffers)), pass);
  };
}

function hostOf(context: HttpContext, { method, url = '', headers }: IncomingMessage): HostSpec | undefined {
  if (method !== 'GET' || !url.startsWith(PATH)) return undefined;
  const host = context.inventory.index.host(url.slice(PATH.length));
  // What a host in `disk` mode boots with next has to be looked up.
  if (host?.os.install !== 'ram' || headers.host === undefined || isMachine(headers)) return undefined;
  return host;
}

function send(response: ServerResponse, preview: ConfigBytes, buffers: SendBuffers): void {
  const buffer = buffers.take(preview.size);
  preview.copyTo(buffer);
  response
    .writeHead(200, { ...HEADERS, 'content-length': preview.size })
    .end(buffer.subarray(0, preview.size));
  // Mostly the system takes it at once; the buffer of one that is still waiting is not used again.
  if (response.writableLength === 0) buffers.giveBack(buffer);
}
