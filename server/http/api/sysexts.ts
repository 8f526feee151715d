import type { Readable } from 'node:stream';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { RailheadError } from '../../errors.ts';
import { NAME_PATTERN, SYSEXT_ARCHS, VERSION_PATTERN } from '../../feed/image-name.ts';
import type { SysextImage } from '../../feed/images.ts';
import { ADMIN, PUBLIC } from '../access.ts';
import type { HttpContext } from '../context.ts';

const Name = Type.String({ pattern: NAME_PATTERN });
const Version = Type.String({ pattern: VERSION_PATTERN });
const Arch = Type.Enum([...SYSEXT_ARCHS]);
const Bytes = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const Force = Type.Optional(Type.Enum(['true', 'false']));

/** The images of the sysext feed: which there are, one more, one less. */
export const sysextsApi =
  (context: HttpContext): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { images, publisher } = context.sysexts;
    const view = ({ path: _path, addedAt, ...image }: SysextImage) => ({
      ...image,
      addedAt: new Date(addedAt).toISOString(),
      url: `${context.advertise().url}/sysext/${image.name}/${image.file}`,
    });

    app.get('/api/v1/sysexts', { config: PUBLIC }, async () => {
      await context.sysexts.look();
      return (await images.list()).map(view);
    });

    // As it comes: an image doesn't fit into the limit for bodies, nor into memory many times. Who has more than fits
    // into the time for one request sends it in pieces, each with its offset, tied together by the image's hash.
    app.addContentTypeParser('application/octet-stream', (_request, payload, done) => done(null, payload));
    app.post(
      '/api/v1/sysexts/:name/:version/:arch',
      {
        config: ADMIN,
        schema: {
          params: Type.Object({ name: Name, version: Version, arch: Arch }),
          querystring: Type.Object({
            sha256: Type.Optional(Type.String({ pattern: '^[0-9a-f]{64}$' })),
            offset: Type.Optional(Bytes),
            size: Type.Optional(Bytes),
            force: Force,
          }),
        },
      },
      async (request) => {
        const { name, version, arch } = request.params;
        const { sha256, force } = request.query;
        const bytes = Number(request.headers['content-length'] ?? Number.NaN);
        if (request.headers['content-type'] !== 'application/octet-stream' || !Number.isSafeInteger(bytes)) {
          throw new RailheadError('RH_REQUEST_INVALID', 'The image is missing.', {
            hint: 'Send it as application/octet-stream, with its Content-Length.',
          });
        }
        const { offset = 0, size = bytes } = request.query;
        if (sha256 === undefined && (offset !== 0 || size !== bytes)) {
          throw new RailheadError('RH_REQUEST_INVALID', 'Pieces of an image need the sha256 of all of it.');
        }
        const done = await publisher.receive({
          id: { name, version, arch: arch as SysextImage['arch'] },
          body: request.body as Readable,
          bytes,
          offset,
          size,
          sha256,
          origin: 'published by hand',
          force: force === 'true',
        });
        return 'image' in done ? { ...view(done.image), isNew: done.isNew } : done;
      },
    );

    app.delete(
      '/api/v1/sysexts/:name/:version',
      {
        config: ADMIN,
        schema: {
          params: Type.Object({ name: Name, version: Version }),
          querystring: Type.Object({ arch: Type.Optional(Arch), force: Force }),
        },
      },
      async (request) => {
        const { arch, force } = request.query;
        const removed = await publisher.remove({ ...request.params, arch }, { force: force === 'true' });
        return { removed: removed.map(view) };
      },
    );
  };
