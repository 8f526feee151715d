import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { Agent, get, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { delimiter, join } from 'node:path';
import { connect as tlsConnect } from 'node:tls';
import { expect, it, onTestFinished } from 'vitest';
import {
  type Appliance,
  AT_TERMINAL,
  edit,
  hasTerminal,
  launchAppliance,
  newSite,
  RAILHEAD,
  siteEnv,
  startAppliance,
  startRailhead,
} from '../support/appliance.ts';
import { until } from '../support/poll.ts';
import { skipped } from '../support/skipped.ts';
import { storedEvents } from '../support/stored.ts';

it('stops in good order, whoever still holds a connection, and says so in the log', async () => {
  const appliance = await startAppliance();
  const stream = await openStream(appliance);
  const silent = hold(appliance.server.httpPort); // connected, never says a word
  const slow = hold(appliance.server.httpPort, 'POST /api/v1/inventory/reload HTTP/1.1\r\nhost: x\r\nconte');
  const body = hold(
    appliance.server.httpPort,
    `POST /api/v1/inventory/reload HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${await appliance.token()}\r\n` +
      'content-type: application/json\r\ncontent-length: 1000\r\n\r\n{"half',
  );
  const withoutHandshake = hold(appliance.server.httpsPort);
  const deaf = hold(
    appliance.server.httpPort,
    'GET /api/v1/events/stream?after=0 HTTP/1.1\r\nhost: x\r\n\r\n',
  );
  deaf.pause();
  const kept = new Agent({ keepAlive: true });
  onTestFinished(() => kept.destroy());
  await new Promise((resolve) =>
    get(`${appliance.url}/healthz`, { agent: kept }, (response) => response.resume().on('end', resolve)),
  );
  const secure = tlsConnect({
    port: appliance.server.httpsPort,
    host: '127.0.0.1',
    rejectUnauthorized: false,
  });
  onTestFinished(() => void secure.destroy());
  secure.on('error', () => {});
  await new Promise((resolve) => secure.once('secureConnect', resolve));
  secure.write('GET /api/v1/events/stream HTTP/1.1\r\nhost: x\r\n\r\n');
  await new Promise((resolve) => secure.once('data', resolve));
  for (const socket of [silent, slow, body, withoutHandshake]) await connected(socket);

  // After five seconds it would cut itself short, and its exit code would not be 0.
  const { stderr } = await appliance.stop();
  expect(stderr).not.toContain('stopping took too long');
  expect(await stream.ended).toBe('end');
  expect(existsSync(appliance.dataPath('server.json'))).toBe(false);
  expect((await storedEvents(appliance.site)).at(-1)).toMatchObject({
    kind: 'server.stopped',
    data: { reason: 'SIGTERM' },
  });
});

it('takes Ctrl+C, which a terminal gives to the whole group and npm passes on again, as one wish', async () => {
  const appliance = launchAppliance(await newSite(), { detached: true });
  await appliance.running();
  process.kill(-appliance.pid, 'SIGINT');
  appliance.signal('SIGINT');
  setTimeout(() => appliance.signal('SIGINT'), 5);
  expect(await appliance.ended, appliance.output).toMatchObject({ code: 0 });
  const stopped = (await storedEvents(appliance.site)).filter(({ kind }) => kind === 'server.stopped');
  expect(stopped).toMatchObject([{ data: { reason: 'SIGINT' } }]);
});

const oldNode = findOldNode();
if (oldNode === undefined)
  skipped('stopping Railhead under an old Node', 'no Node older than 24 on the PATH');

it.skipIf(oldNode === undefined)('stops as well when an older Node started it', async () => {
  const appliance = launchAppliance(await newSite(), { command: [oldNode!, RAILHEAD], detached: true });
  await appliance.running({ byAnother: true });
  expect(appliance.server.pid).not.toBe(appliance.pid);
  process.kill(-appliance.pid, 'SIGINT');
  expect(await appliance.ended, appliance.output).toMatchObject({ code: 0, signal: null });
  expect((await storedEvents(appliance.site)).at(-1)).toMatchObject({ kind: 'server.stopped' });
  expect(existsSync(appliance.dataPath('server.json'))).toBe(false);
});

it('is not started any more when it is told to stop before it serves', async () => {
  const appliance = launchAppliance(await newSite());
  await until('the data folder is there', () => existsSync(appliance.dataPath('railhead.db')));
  appliance.signal('SIGTERM');
  expect(await appliance.ended, appliance.output).toMatchObject({ code: 0, signal: null });
  expect(existsSync(appliance.dataPath('server.json'))).toBe(false);
});

it.skipIf(!hasTerminal)('stops when the terminal that it runs on is closed', async () => {
  const site = await newSite();
  const session = startRailhead([], {
    command: AT_TERMINAL,
    cwd: site.dir,
    env: { ...siteEnv(site), TERM: 'xterm' },
  });
  await until('the banner is out', () => session.stdout.includes('Stop with'));
  const { pid } = JSON.parse(await readFile(join(site.data, 'server.json'), 'utf8')) as { pid: number };
  onTestFinished(() => void (hasEnded(pid) || process.kill(pid, 'SIGKILL')));
  await session.kill();
  await until('it has stopped', () => !existsSync(join(site.data, 'server.json')));
  await until('its process has ended', () => hasEnded(pid));
  expect((await storedEvents(site)).at(-1)).toMatchObject({
    kind: 'server.stopped',
    data: { reason: 'SIGHUP' },
  });
});

it('goes on when nobody reads its log or its banner; takes the inventory anew at SIGHUP, with --watch false', async () => {
  const appliance = launchAppliance(await newSite(), { flags: ['--watch', 'false'] });
  appliance.child.stdout?.destroy();
  appliance.child.stderr?.destroy();
  await appliance.running();
  const { revision } = await appliance.readyz();
  await edit(appliance.site, (text) => text.replace('name: n3', 'name: n4'));
  expect((await appliance.readyz()).revision).toBe(revision);
  appliance.signal('SIGHUP');
  await until('the edit is in force', async () => (await appliance.readyz()).revision !== revision);
  expect((await appliance.events('kind=inventory.activated')).at(-1)).toMatchObject({
    data: { previous: revision, added: 1, removed: 1 },
  });
  appliance.signal('SIGTERM');
  expect(await appliance.ended).toMatchObject({ code: 0 });
  expect((await storedEvents(appliance.site)).at(-1)).toMatchObject({ kind: 'server.stopped' });
});

/** Gone, or a zombie that whoever adopted it has not buried yet. */
function hasEnded(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.startsWith('Z') ?? true;
  } catch {
    return true;
  }
}

/** An HTTP connection made by hand; what it sends may be unfinished. */
function hold(port: number, text = '') {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => {});
  if (text !== '') socket.write(text);
  onTestFinished(() => void socket.destroy());
  return socket;
}

function connected(socket: ReturnType<typeof hold>): Promise<unknown> | undefined {
  return socket.connecting ? new Promise((resolve) => socket.once('connect', resolve)) : undefined;
}

/** Reads the event stream; `ended` says whether it was ended in good order. */
async function openStream(appliance: Appliance): Promise<{ ended: Promise<'end' | 'cut'> }> {
  const response = await new Promise<IncomingMessage>((resolve) =>
    get(`${appliance.url}/api/v1/events/stream`, { agent: false }, resolve),
  );
  response.resume();
  const ended = new Promise<'end' | 'cut'>((resolve) => {
    response.once('end', () => resolve('end'));
    response.once('error', () => resolve('cut'));
  });
  return { ended };
}

/** A `node` on the PATH that is too old to run Railhead itself. */
function findOldNode(): string | undefined {
  const candidates = [...(process.env.PATH ?? '').split(delimiter), '/usr/bin', '/usr/local/bin'];
  return candidates
    .map((folder) => join(folder, 'node'))
    .filter((path) => existsSync(path))
    .find((path) => Number(execFileSync(path, ['-p', 'parseInt(process.versions.node)'])) < 24);
}
