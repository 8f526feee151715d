import pino from 'pino';
import { afterEach, expect, it, onTestFinished, vi } from 'vitest';
import { type RunningApp, startApp } from '../../server/app/start.ts';
import { HttpListener } from '../../server/http/listener.ts';
import type { Readiness } from '../../server/readiness.ts';
import { resolveSettings } from '../../server/resolve-settings.ts';
import { TftpService } from '../../server/tftp/service.ts';
import { ask, newSite, ROOT, type Site, siteEnv } from '../support/appliance.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

it('is not ready before HTTPS and TFTP listen, and names those that do not', async () => {
  const site = await newSite();
  const opening = gates();
  const app = start(site);
  onTestFinished(async () => {
    opening.openHttps();
    opening.openTftp();
    await (await app).stop('the test is over');
  });
  const http = await opening.http;
  const readyz = async () => {
    const { status, body } = await ask(`http://127.0.0.1:${http}/readyz`);
    const { ready, reasons } = JSON.parse(body) as Readiness;
    return { status, ready, reasons };
  };
  const https = { part: 'https', message: 'HTTPS is not listening yet.' };
  const tftp = { part: 'tftp', message: 'TFTP is not listening yet.' };

  expect(await readyz()).toEqual({ status: 503, ready: false, reasons: [https, tftp] });
  opening.openHttps();
  await opening.https;
  // The server goes on to TFTP in the same turn, before it can answer.
  expect(await readyz()).toEqual({ status: 503, ready: false, reasons: [tftp] });
  opening.openTftp();
  await app;
  expect(await readyz()).toEqual({ status: 200, ready: true, reasons: [] });
});

/** Holds back HTTPS and TFTP; `http` and `https` resolve to the port when it listens. */
function gates() {
  const [http, https] = [Promise.withResolvers<number>(), Promise.withResolvers<number>()];
  const [httpsGate, tftpGate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const startHttp = HttpListener.prototype.start;
  vi.spyOn(HttpListener.prototype, 'start').mockImplementation(async function (
    this: HttpListener,
    bind,
    port,
    flag,
  ) {
    if (flag === '--https-port') await httpsGate.promise;
    const opened = await startHttp.call(this, bind, port, flag);
    (flag === '--https-port' ? https : http).resolve(opened);
    return opened;
  });
  const startTftp = TftpService.prototype.start;
  vi.spyOn(TftpService.prototype, 'start').mockImplementation(async function (this: TftpService) {
    await tftpGate.promise;
    return startTftp.call(this);
  });
  return {
    http: http.promise,
    https: https.promise,
    openHttps: httpsGate.resolve,
    openTftp: tftpGate.resolve,
  };
}

function start(site: Site): Promise<RunningApp> {
  return startApp({
    settings: resolveSettings({ root: ROOT, cwd: site.dir, flags: {}, env: siteEnv(site) }),
    logger: pino({ level: 'silent' }),
    inventoryShownAs: 'inventory',
    nodeBinary: process.execPath,
    env: {},
    sendSignal: () => false,
    onFatal: () => {},
  });
}
