import http, { type RequestListener, type Server } from 'node:http';
import https from 'node:https';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify';
import type { ServerCertificate } from '../access/certificate.ts';
import { guardRoutes } from './access.ts';
import { agentRoutes, secureAgentRoutes } from './agent.ts';
import { assetsApi } from './api/assets.ts';
import { clustersApi } from './api/clusters.ts';
import { eventsApi } from './api/events.ts';
import { hostsApi } from './api/hosts.ts';
import { inventoryApi } from './api/inventory.ts';
import { machinesApi } from './api/machines.ts';
import { pipelineApi } from './api/pipeline.ts';
import { simulationApi } from './api/simulation.ts';
import { sysextsApi } from './api/sysexts.ts';
import { transfersApi } from './api/transfers.ts';
import { API_HEADER, API_VERSION } from './api-header.ts';
import { assetRoutes } from './assets.ts';
import { bootRoutes } from './boot.ts';
import { clusterPage } from './cluster-page.ts';
import type { HttpContext } from './context.ts';
import { answerError, answerErrors, answerUnreadable } from './errors.ts';
import { feedRoutes } from './feed.ts';
import { health } from './health.ts';
import { configRoute, pointerRoute, previewRoute } from './ignition.ts';
import { kubeadmRoute } from './kubeadm.ts';
import { pages } from './pages.ts';
import { withPreviewShortcut } from './preview-shortcut.ts';
import { compileValidator } from './validator.ts';

export interface HttpAppOptions {
  context: HttpContext;
  logger: FastifyBaseLogger;
  /** The certificate to serve HTTPS with; plain HTTP without it. */
  tls?: ServerCertificate;
}

/** For a request to arrive whole: who sends a byte now and then must not hold a connection for ever. */
const REQUEST_TIMEOUT_MS = 60_000;

/** How long a connection may be idle between two requests: longer than proxies keep theirs. */
const KEEP_ALIVE_MS = 72_000;

function createServer(listener: RequestListener, tls: ServerCertificate | undefined): Server {
  const options = {
    requestTimeout: REQUEST_TIMEOUT_MS,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // Node's own answer to a request without a Host has no body; `answerErrors` gives it ours.
    requireHostHeader: false,
  };
  return tls === undefined
    ? http.createServer(options, listener)
    : https.createServer({ ...options, ...tls }, listener);
}

/** The HTTP interfaces as one Fastify app. It listens nowhere yet: tests call it with `inject()`. */
export function buildHttpApp({ context, logger, tls }: HttpAppOptions): FastifyInstance {
  const app = fastify({
    loggerInstance: logger,
    serverFactory: (handler) => createServer(withPreviewShortcut(context, handler as RequestListener), tls),
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: 1024 * 1024,
    frameworkErrors: answerError,
    clientErrorHandler: answerUnreadable,
    // Connections that are busy at shutdown get `stop()`'s deadline; idle ones go at once.
    forceCloseConnections: 'idle',
    routerOptions: { ignoreTrailingSlash: true },
  }).withTypeProvider<TypeBoxTypeProvider>() as unknown as FastifyInstance;
  app.setValidatorCompiler(compileValidator);
  // Requests are not logged: one logger does for all of them, where a child for each would take its time.
  app.setChildLoggerFactory((parent) => parent);
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header(API_HEADER, API_VERSION);
    done();
  });
  answerErrors(app);
  const secure = tls !== undefined;
  guardRoutes(app, context, { secure });
  for (const plugin of [
    health,
    pages,
    clusterPage,
    inventoryApi,
    bootRoutes,
    assetRoutes,
    assetsApi,
    pointerRoute,
    previewRoute,
    agentRoutes,
    hostsApi,
    clustersApi,
    machinesApi,
    simulationApi,
    feedRoutes,
    sysextsApi,
    transfersApi,
    pipelineApi,
    eventsApi,
    // What carries secrets is only there where TLS keeps it.
    ...(secure ? [configRoute, secureAgentRoutes, kubeadmRoute] : []),
  ])
    app.register(plugin(context, { secure }) as never);
  return app;
}
