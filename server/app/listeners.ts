import type { FastifyBaseLogger } from 'fastify';
import { issueServerCertificate } from '../access/certificate.ts';
import { buildHttpApp } from '../http/app.ts';
import type { HttpContext } from '../http/context.ts';
import { HttpListener } from '../http/listener.ts';
import type { TftpService } from '../tftp/service.ts';
import type { Foundation } from './foundation.ts';
import type { AppOptions } from './options.ts';
import type { Services } from './services.ts';
import type { UndoList } from './undo.ts';
import type { Whereabouts } from './whereabouts.ts';

/** A new certificate every day: none ever expires, and it follows the machine's addresses. */
const CERTIFICATE_RENEWAL_MS = 86_400_000;

export interface ListenersOptions extends AppOptions {
  foundation: Foundation;
  services: Services;
  where: Whereabouts;
  context: HttpContext;
  tftp: TftpService;
  undo: UndoList;
}

/** Opens the ports: HTTP first, because its number is part of the address that the others tell. */
export async function listen(options: ListenersOptions): Promise<void> {
  const { settings, logger, foundation, where, context, tftp, undo } = options;
  // Where it listens is in the banner; only what goes wrong is worth a line of its own.
  const level = logger.isLevelEnabled('warn') ? 'warn' : logger.level;
  const fastifyLogger = logger.child({}, { level }) as FastifyBaseLogger;
  const listeners: HttpListener[] = [];
  undo.add(() => Promise.all(listeners.map((listener) => listener.stop())));

  const http = new HttpListener(buildHttpApp({ context, logger: fastifyLogger }));
  listeners.push(http);
  const httpPort = await http.start(settings.bind, settings.httpPort, '--http-port');
  const { hosts } = foundation.inventory.index.inventory;
  where.choose(
    httpPort,
    hosts.flatMap(({ ip }) => (ip === undefined ? [] : [ip])),
  );

  const issue = () => issueServerCertificate(foundation.authority, where.names(), new Date());
  const https = new HttpListener(buildHttpApp({ context, logger: fastifyLogger, tls: await issue() }));
  listeners.push(https);
  https.onTlsFailure((address, reason) => {
    const event = context.tlsWatch.failed(address, reason);
    if (event === undefined || !options.services.isNews(address, reason)) return;
    void foundation.events.append(event).catch(() => {});
  });
  where.listensOn('https', await https.start(settings.bind, settings.httpsPort, '--https-port'));
  const renewal = setInterval(
    () =>
      void issue().then(
        (tls) => https.useCertificate(tls),
        (error: unknown) => logger.error({ err: error }, 'the HTTPS certificate could not be renewed'),
      ),
    CERTIFICATE_RENEWAL_MS,
  );
  renewal.unref();
  undo.add(() => clearInterval(renewal));

  where.listensOn('tftp', await tftp.start());
  undo.add(() => tftp.stop());
}
