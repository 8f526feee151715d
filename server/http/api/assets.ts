import { isAbsolute } from 'node:path';
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { RailheadError } from '../../errors.ts';
import { ADMIN, PUBLIC } from '../access.ts';
import type { HttpContext } from '../context.ts';

const closed = { additionalProperties: false } as const;
const SyncOrder = Type.Object({ refresh: Type.Optional(Type.Boolean()) }, closed);
const ImportOrder = Type.Object(
  { path: Type.String({ minLength: 1, maxLength: 4096, pattern: '^[^\\u0000]*$' }) },
  closed,
);
const PruneOrder = Type.Object({ dryRun: Type.Optional(Type.Boolean()) }, closed);

/** Images that are mirrored: which there are, and the jobs that fetch, check and remove them. */
export const assetsApi =
  (context: HttpContext): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { assets } = context;
    app.get('/api/v1/assets', { config: PUBLIC }, async () => assets.list());
    app.get('/api/v1/assets/job', { config: PUBLIC }, async () => ({
      job: assets.status ?? null,
      usage: await assets.usage(),
    }));
    app.post('/api/v1/assets/sync', { config: ADMIN, schema: { body: SyncOrder } }, async (request) =>
      assets.sync({ refresh: request.body.refresh ?? false }),
    );
    app.post('/api/v1/assets/import', { config: ADMIN, schema: { body: ImportOrder } }, async (request) => {
      const { path } = request.body;
      if (!isAbsolute(path))
        throw new RailheadError('RH_REQUEST_INVALID', 'The path must be one from the root of this machine.');
      return assets.import(path);
    });
    app.post('/api/v1/assets/verify', { config: ADMIN }, async () => assets.verify());
    app.post('/api/v1/assets/stop', { config: ADMIN }, async () => ({
      job: (await assets.cancel()) ?? null,
    }));
    app.post('/api/v1/assets/prune', { config: ADMIN, schema: { body: PruneOrder } }, async (request) =>
      assets.prune({ dryRun: request.body.dryRun ?? false }),
    );
  };
