import { type TypeBoxTypeProvider, TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox';
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { ServerCertificate } from '../access/certificate.ts';
import { guardRoutes } from './access.ts';
import { eventsApi } from './api/events.ts';
import { hostsApi } from './api/hosts.ts';
import { inventoryApi } from './api/inventory.ts';
import type { HttpContext } from './context.ts';
import { answerErrors } from './errors.ts';
import { health } from './health.ts';
import { pages } from './pages.ts';

export interface HttpAppOptions {
  context: HttpContext;
  logger: FastifyBaseLogger;
  /** The certificate to serve HTTPS with; plain HTTP without it. */
  tls?: ServerCertificate;
}

/** The HTTP interfaces as one Fastify app. It listens nowhere yet: tests call it with `inject()`. */
export function buildHttpApp({ context, logger, tls }: HttpAppOptions): FastifyInstance {
  const app = fastify({
    loggerInstance: logger,
    ...(tls === undefined ? {} : { https: tls }),
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: 1024 * 1024,
    // Connections that are busy at shutdown get `stop()`'s deadline; idle ones go at once.
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: true },
  }).withTypeProvider<TypeBoxTypeProvider>() as unknown as FastifyInstance;
  app.setValidatorCompiler(TypeBoxValidatorCompiler);
  guardRoutes(app, context, { secure: tls !== undefined });
  answerErrors(app);
  for (const plugin of [health, pages, inventoryApi, hostsApi, eventsApi])
    app.register(plugin(context) as never);
  return app;
}
