import type { AddressInfo } from 'node:net';
import { pathToFileURL } from 'node:url';
import fastify from 'fastify';
import { createFileSender } from '../../server/http/files/sender.ts';

/** A folder over HTTP as a process of its own, by our sender or by @fastify/static; prints its port. */
export interface ServeOrder {
  folder: string;
  cacheBytes: number;
  /** Where @fastify/static is installed; our sender without it. */
  fastifyStatic?: string;
}

const order = JSON.parse(process.argv[2]!) as ServeOrder;
const app = fastify();
if (order.fastifyStatic === undefined) {
  const sender = createFileSender({ cacheBytes: order.cacheBytes });
  app.get('/:path', (request, reply) => {
    const { path } = request.params as { path: string };
    return sender.send(request, reply, { root: order.folder, path });
  });
} else {
  const plugin = await import(pathToFileURL(order.fastifyStatic).href);
  app.register(plugin.default, { root: order.folder });
}
await app.listen({ host: '127.0.0.1', port: 0 });
console.log((app.server.address() as AddressInfo).port);
