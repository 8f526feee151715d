import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { RailheadError } from '../../errors.ts';
import { adopt } from '../../inventory/adopt.ts';
import { normaliseMac } from '../../inventory/mac.ts';
import { forgetSighting, listSightings } from '../../store/sightings.ts';
import { ADMIN, PUBLIC } from '../access.ts';
import type { HttpContext } from '../context.ts';

/** Machines that are not in the inventory, and the way into it. */
export const machinesApi =
  (context: HttpContext): FastifyPluginAsyncTypebox =>
  async (app) => {
    const { db } = context.store;
    app.get('/api/v1/machines', { config: PUBLIC }, async () =>
      (await listSightings(db)).map(({ mac, first_seen, last_seen, ...rest }) => ({
        name: mac,
        mac,
        ...rest,
        firstSeen: new Date(first_seen).toISOString(),
        lastSeen: new Date(last_seen).toISOString(),
      })),
    );
    const params = Type.Object({ mac: Type.String({ maxLength: 32 }) });
    const querystring = Type.Object({
      pool: Type.String({ pattern: '^[-a-z0-9]{1,63}$' }),
      name: Type.String({ pattern: '^[-.a-z0-9]{1,253}$' }),
    });
    app.post(
      '/api/v1/machines/:mac/adopt',
      { config: ADMIN, schema: { params, querystring } },
      async (request) => {
        const mac = normaliseMac(request.params.mac);
        if (mac === undefined)
          throw new RailheadError('RH_REQUEST_INVALID', `${request.params.mac} is no MAC address.`);
        const { name, pool } = request.query;
        const seen = (await listSightings(db)).find((sighting) => sighting.mac === mac);
        const { dir, shownAs } = context.inventoryFolder;
        const file = await adopt(dir, shownAs, { name, pool, mac, serial: seen?.serial ?? undefined });
        await context.events.transact(async (trx) => {
          await forgetSighting(trx, mac);
          return [{ kind: 'host.adopted', host: name, data: { mac, file } }];
        });
        await context.reload();
        return { name, file };
      },
    );
  };
