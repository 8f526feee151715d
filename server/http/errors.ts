import { STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { RailheadError, systemCode, toRailheadError } from '../errors.ts';
import { API_HEADER, API_VERSION } from './api-header.ts';

/** Every failure leaves as the same JSON: a code, a message for a person, a hint. No stack traces. */
export function answerErrors(app: FastifyInstance): void {
  app.setErrorHandler(answerError);
  app.setNotFoundHandler({ preHandler: [] }, (request, reply) => {
    const error = new RailheadError(
      'RH_NOT_FOUND',
      `There is nothing at ${request.method} ${request.url.split('?')[0]}.`,
    );
    return reply.status(error.status).send(error.toBody());
  });
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    const isRight = raw.httpVersion !== '1.1' || raw.headers.host !== undefined;
    done(isRight ? undefined : new RailheadError('RH_REQUEST_INVALID', 'The Host header is missing.'));
  });
  app.server.on('checkExpectation', (_request, response) => {
    const body = bodyOf('Only 100-continue can be expected.');
    response.writeHead(417, { ...HEADERS, 'content-length': Buffer.byteLength(body) }).end(body);
  });
}

/** For answers that Fastify has no part in. */
const HEADERS = { 'content-type': 'application/json; charset=utf-8', [API_HEADER]: API_VERSION };

/** Also for what Fastify refuses before it has found a route, such as a URL that can't be decoded. */
export function answerError(error: FastifyError, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const mapped = fromFastify(error) ?? { error: toRailheadError(error), status: undefined };
  const status = mapped.status ?? mapped.error.status;
  if (status >= 500 && isFault(mapped.error))
    request.log.error({ err: error, url: withoutToken(request.url) }, mapped.error.message);
  if (status === 401) reply.header('www-authenticate', 'Bearer');
  return reply.status(status).header(API_HEADER, API_VERSION).send(mapped.error.toBody());
}

/** A machine that is told to wait asks every few seconds, and an event has said why: that is no news for the log. */
function isFault({ code, cause }: RailheadError): boolean {
  return code === 'RH_INTERNAL' || cause !== undefined;
}

/** Logs live longer than boots. */
function withoutToken(url: string): string {
  return url.replace(/^\/boot\/[\w-]{22}/, '/boot/…');
}

/** What Fastify and Node themselves refuse (a bad body, too much of it, half of it) keeps its status. */
function fromFastify(error: FastifyError): { error: RailheadError; status: number } | undefined {
  if (error instanceof RailheadError) return undefined;
  const status = error.statusCode ?? 500;
  if (status < 400 || status >= 500) return undefined;
  return { error: new RailheadError('RH_REQUEST_INVALID', error.message), status };
}

/** What is not even HTTP, by the code of Node's parser. */
const UNREADABLE: Record<string, [status: number, message: string]> = {
  HPE_HEADER_OVERFLOW: [431, 'The headers are too large.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The chunk extensions are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request took too long to arrive.'],
};

/** Answers what never became a request, and closes the connection. */
export function answerUnreadable(error: NodeJS.ErrnoException, socket: Socket): void {
  const code = systemCode(error) ?? '';
  if (code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const [status, message] = UNREADABLE[code] ?? [400, 'This is not a valid HTTP request.'];
  const body = bodyOf(message);
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    ...Object.entries(HEADERS).map(([name, value]) => `${name}: ${value}`),
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
  ];
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`, () => socket.destroy());
}

function bodyOf(message: string): string {
  return JSON.stringify(new RailheadError('RH_REQUEST_INVALID', message).toBody());
}
