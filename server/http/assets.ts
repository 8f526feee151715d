import type { FastifyPluginAsync } from 'fastify';
import { RailheadError } from '../errors.ts';
import { PUBLIC } from './access.ts';
import { addressOf } from './address.ts';
import type { HttpContext } from './context.ts';

/** Images as they lie in the folder, for installers and for people; what goes to a host is counted for it. */
export const assetRoutes =
  (context: HttpContext): FastifyPluginAsync =>
  async (app) => {
    app.get('/assets/*', { config: PUBLIC }, async (request, reply) => {
      const { '*': path = '' } = request.params as { '*'?: string };
      // Unfinished downloads and notes have such names.
      if (path.split('/').some((part) => part.startsWith('.'))) {
        throw new RailheadError('RH_NOT_FOUND', `There is no file ${path}.`);
      }
      const file = { root: context.assetsDir, path };
      const host = context.inventory.index.hostByIp(addressOf(request));
      if (host === undefined) return context.files.send(request, reply, file);
      const counter = context.progress.begin(host.name, path.split('/').at(-1) ?? path);
      return context.files.send(request, reply, file, counter);
    });
  };
