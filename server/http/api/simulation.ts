import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox';
import Type from 'typebox';
import { MAX_SIMULATED_HOSTS } from '../../simulation/hosts.ts';
import { SimulationSetUp } from '../../simulation/set-up.ts';
import { revokeMachine } from '../../store/machines.ts';
import { ADMIN } from '../access.ts';
import type { HttpContext } from '../context.ts';

const MiB = 1024 * 1024;
const Size = Type.Optional(Type.Integer({ minimum: 1, maximum: 4096 * MiB }));

const SimulationOrder = Type.Object({
  hosts: Type.Integer({ minimum: 1, maximum: MAX_SIMULATED_HOSTS }),
  install: Type.Optional(Type.Enum(['ram', 'disk'])),
  kernelBytes: Size,
  initrdBytes: Size,
});

/** Hosts that are only pretended, for `railhead simulate`. */
export const simulationApi =
  (context: HttpContext): FastifyPluginAsyncTypebox =>
  async (app) => {
    const setUp = new SimulationSetUp({
      inventoryFolder: context.inventoryFolder,
      assetsDir: context.assetsDir,
      reload: context.reload,
      rejection: () => context.inventory.rejection,
    });
    app.post('/api/v1/simulation', { config: ADMIN, schema: { body: SimulationOrder } }, async (request) => {
      const { hosts, install = 'ram', kernelBytes = 4 * MiB, initrdBytes = 16 * MiB } = request.body;
      const done = await setUp.put({ hosts, install, kernelBytes, initrdBytes });
      // They are switched on anew: those of the last run are gone, and nobody has to wait until that shows.
      await context.events.transact(async (db) => {
        for (const { name } of done.hosts) await revokeMachine(db, name, Date.now());
        return [];
      });
      return done;
    });
    app.delete('/api/v1/simulation', { config: ADMIN }, async () => setUp.remove());
  };
