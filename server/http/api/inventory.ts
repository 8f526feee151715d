import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { loadRevision } from '../../inventory/revision.ts';
import { listRevisions } from '../../store/revisions.ts';
import { ADMIN, PUBLIC } from '../access.ts';
import type { HttpContext } from '../context.ts';

/** The inventory in force, the revisions before it, and the order to look at the files again. */
export const inventoryApi =
  (context: HttpContext): FastifyPluginAsyncTypebox =>
  async (app) => {
    const status = () => {
      const { revision, warnings, rejection, index } = context.inventory;
      return {
        revision: revision ?? null,
        hosts: index.inventory.hosts.length,
        warnings,
        rejection: rejection ?? null,
      };
    };
    app.get('/api/v1/inventory', { config: PUBLIC }, async () => status());
    app.post('/api/v1/inventory/reload', { config: ADMIN }, async () => {
      await context.reload();
      return status();
    });
    app.get('/api/v1/revisions', { config: PUBLIC }, async () => {
      const revisions = await listRevisions(context.store.db);
      return revisions.map(({ hash, createdAt }) => ({
        name: hash,
        createdAt: new Date(createdAt).toISOString(),
        inForce: hash === context.inventory.revision,
      }));
    });
    const params = Type.Object({ revision: Type.String({ pattern: '^([0-9a-f]{4,64}|in-force)$' }) });
    app.get('/api/v1/revisions/:revision', { config: PUBLIC, schema: { params } }, async (request) => {
      const wanted = request.params.revision;
      if (wanted === 'in-force') {
        return { revision: context.inventory.revision ?? null, inventory: context.inventory.index.inventory };
      }
      const { hash, inventory } = await loadRevision(context.store.db, wanted);
      return { revision: hash, inventory };
    });
  };
