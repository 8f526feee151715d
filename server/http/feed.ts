import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import type { FastifyReply, FastifyRequest } from 'fastify';
import Type from 'typebox';
import { RailheadError } from '../errors.ts';
import type { FeedView } from '../feed/feed.ts';
import { NAME_PATTERN } from '../feed/image-name.ts';
import { noopDefinition } from '../feed/transfer-definition.ts';
import { PUBLIC } from './access.ts';
import { addressOf } from './address.ts';
import { sendBytes } from './bytes.ts';
import type { HttpContext } from './context.ts';

const NAME = new RegExp(NAME_PATTERN);
const Name = Type.String({ pattern: NAME_PATTERN });
const Cluster = Type.String({ maxLength: 63 });
const File = Type.String({ maxLength: 200 });
const Pin = Type.Object({ minor: Type.Optional(Type.String({ pattern: '^v?[0-9]{1,6}\\.[0-9]{1,6}$' })) });

/** The public key that the sums are signed with, as a keyring. */
export const SIGNING_KEY_PATH = '/sysext/signing-key.gpg';

/** What systemd-sysupdate fetches: sums, their signature, images; and the definitions that tell it so. */
export const feedRoutes =
  (context: HttpContext): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { feed } = context.sysexts;

    app.get(SIGNING_KEY_PATH, { config: PUBLIC }, async (request, reply) =>
      sendBytes(request, reply, await feed.publicKeyring(), 'application/pgp-keys'),
    );
    app.get('/sysext/noop.conf', { config: PUBLIC }, async (request, reply) =>
      sendText(request, reply, noopDefinition()),
    );

    const sendDefinition = async (
      request: FastifyRequest,
      reply: FastifyReply,
      view: Omit<FeedView, 'name'> & { file: string; minor?: string | undefined },
    ): Promise<FastifyReply> => {
      const found = /^(?<name>[a-z0-9_-]+?)(?:-(?<pin>v?\d+\.\d+))?\.conf$/.exec(view.file)?.groups;
      const name = found?.name ?? '';
      if (!NAME.test(name)) {
        throw new RailheadError('RH_NOT_FOUND', `There is nothing at ${request.url.split('?')[0]}.`);
      }
      const text = await feed.definition({ name, cluster: view.cluster }, view.minor ?? found?.pin);
      return sendText(request, reply, text);
    };
    app.get(
      '/sysext/:file',
      { config: PUBLIC, schema: { params: Type.Object({ file: File }), querystring: Pin } },
      async (request, reply) => sendDefinition(request, reply, { ...request.params, ...request.query }),
    );
    app.get(
      '/sysext/c/:cluster/:file',
      {
        config: PUBLIC,
        schema: { params: Type.Object({ cluster: Cluster, file: File }), querystring: Pin },
      },
      async (request, reply) => sendDefinition(request, reply, { ...request.params, ...request.query }),
    );

    const sendFile = async (
      request: FastifyRequest,
      reply: FastifyReply,
      { file, ...view }: FeedView & { file: string },
    ): Promise<FastifyReply | undefined> => {
      if (file === 'SHA256SUMS' || file === 'SHA256SUMS.gpg') {
        const half = file === 'SHA256SUMS' ? 'sums' : 'signature';
        // A look at the headers begins no download.
        const bytes =
          request.method === 'HEAD'
            ? (await feed.snapshot(view))[half]
            : await feed.half(view, half, clientOf(request));
        const type = half === 'sums' ? 'text/plain; charset=utf-8' : 'application/pgp-signature';
        return sendBytes(request, reply, bytes, type);
      }
      await sendImage(request, reply, { ...view, file });
      return undefined;
    };
    app.get(
      '/sysext/:name/:file',
      { config: PUBLIC, schema: { params: Type.Object({ name: Name, file: File }) } },
      async (request, reply) => sendFile(request, reply, request.params),
    );
    app.get(
      '/sysext/c/:cluster/:name/:file',
      { config: PUBLIC, schema: { params: Type.Object({ cluster: Cluster, name: Name, file: File }) } },
      async (request, reply) => sendFile(request, reply, request.params),
    );

    /** A host's download is seen while it goes on, and told of when it is over. */
    const sendImage = async (
      request: FastifyRequest,
      reply: FastifyReply,
      { file, ...view }: FeedView & { file: string },
    ): Promise<void> => {
      const image = await feed.image(view, file);
      const root = { root: context.assetsDir, path: image.path };
      const mustBe = { size: image.size };
      const host = context.inventory.index.hostByIp(addressOf(request));
      if (host === undefined) return context.files.send(request, reply, root, { mustBe });
      const counter = context.progress.begin(host.name, file);
      return context.files.send(request, reply, root, {
        mustBe,
        onSize: counter.onSize,
        onBytes: counter.onBytes,
        onEnd: (whole) => {
          counter.onEnd(whole);
          if (!whole) return;
          const data = { file, bytes: counter.bytes, of: image.size };
          void context.events.append({ kind: 'feed.sent', host: host.name, data }).catch(() => {});
        },
      });
    };
  };

/** Whose two halves belong together. */
function clientOf(request: FastifyRequest): string {
  return `${addressOf(request)} ${request.headers['user-agent'] ?? ''}`;
}

function sendText(request: FastifyRequest, reply: FastifyReply, text: string): FastifyReply {
  return sendBytes(request, reply, Buffer.from(text), 'text/plain; charset=utf-8');
}
