import { execFile, spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { promisify } from 'node:util';
import { expect, it, onTestFinished } from 'vitest';
import { type Appliance, sharedAppliance } from '../support/appliance.ts';
import { PATIENCE_MS, until } from '../support/poll.ts';
import { canMount } from '../support/private-mounts.ts';
import { skipped } from '../support/skipped.ts';

const appliance = sharedAppliance();

const canSendRaw = canMount && spawnSync('perl', ['-v']).status === 0;
if (!canSendRaw) skipped('a datagram from port 0', 'it needs root and Perl');

const REQUESTS = 3000;
const AT_ONCE = 40;
/** For requests that may well get no answer, since they only wait for more. */
const GLANCE_MS = 1000;

const METHODS =
  'GET GET GET POST POST HEAD PUT PATCH DELETE OPTIONS TRACE CONNECT PROPFIND FOO get G\u0000T'.split(' ');
const PATHS = [
  '/',
  '/healthz',
  '/readyz',
  '/api/v1/hosts',
  '/api/v1/hosts/n1',
  '/api/v1/events',
  '/api/v1/inventory',
  '/api/v1/inventory/reload',
  '/api/v1/revisions',
  '/api/v1/revisions/in-force',
  '/static/style.css',
  '/hosts/n1',
  '/clusters/lab',
  '/boot.ipxe',
  '/boot.grub',
  '/boot/aaaaaaaaaaaaaaaaaaaaaa/kernel',
  '/boot/aaaaaaaaaaaaaaaaaaaaaa/pointer.ign',
  '/loaders/autoexec.ipxe',
  '/assets/..%2f..%2fkeys%2fadmin-token',
  '/ignition/n1',
  '/agent/v1/stage',
  '/sysext/kubernetes.conf',
  '/sysext/kubernetes/SHA256SUMS',
  '/sysext/c/lab/kubernetes/SHA256SUMS.gpg',
  '/api/v1/machines',
  '/api/v1/hosts/n1/menu',
  '/api/v1/hosts/n1/kubeadm',
  '/api/v1/hosts/n1/release',
  '/api/v1/clusters/lab',
  '/api/v1/clusters/lab/kubeconfig',
  '/api/v1/clusters/lab/pipeline',
  '/api/v1/clusters/lab/pipeline/logs',
  '/nothing/here',
  '*',
  'http://127.0.0.1/healthz',
  '/../../../../etc/passwd',
  '/static/..%2f..%2f..%2fetc%2fpasswd',
  '/static/....//....//app.ts',
  '//evil.example/%2e%2e',
];
const ODDITIES = [
  '%',
  '%zz',
  '%00',
  '%c3%28',
  '%ff%fe',
  '%2e%2e%2f',
  '\\..\\',
  '/'.repeat(50),
  'a'.repeat(300),
  'a'.repeat(20_000),
  '__proto__',
  'constructor',
  '[object Object]',
  "' or 1=1 --",
  '$'.concat('{7*7}'),
  '{{7*7}}',
  '%F0%9F%92%A9',
  '\u00ff\u0080',
  '1e999',
  '-1',
  '0',
  '99999999999999999999',
  'NaN',
  '',
];
const QUERY_NAMES =
  'limit after host kind limit[] __proto__ x mac uuid serial vendor reveal revision file minor step hours'.split(
    ' ',
  );
const HEADERS = [
  'content-type: application/json',
  'content-type: text/plain',
  'content-type: application/json; charset=\u00ff',
  'content-type: multipart/form-data; boundary=',
  'content-length: 5',
  'content-length: -1',
  'content-length: 99999999999999',
  'content-length: five',
  'transfer-encoding: chunked',
  'transfer-encoding: gzip, chunked',
  'expect: 100-continue',
  'expect: a miracle',
  'upgrade: websocket\r\nconnection: upgrade',
  'host: evil.example',
  'host: a\r\nhost: b',
  'origin: null',
  'authorization: Bearer',
  'authorization: \u0001\u0002',
  'range: bytes=0-18446744073709551615',
  'if-none-match: *',
  'accept: \u00e9',
  'last-event-id: -5',
  'last-event-id: 1e300',
  'cookie: '.padEnd(10_000, 'c'),
  'x: '.padEnd(20_000, 'y'),
  ': nameless',
  'no colon at all',
  'bad name: x',
  ` folded:\r\n value`,
  Array.from({ length: 2500 }, (_, n) => `x${n}: y`).join('\r\n'),
];
const BODIES = [
  '',
  '{}',
  '{"a":',
  '{"__proto__":{"x":1}}',
  '\u0000\u0000',
  '[['.repeat(5000),
  'ffffffffffffffff\r\nhello',
  '5\r\nhello\r\n0\r\n\r\n',
  'x'.repeat(100_000),
];

// First: a machine that has said a hundred odd things is not listened to for a while.
it('what machines say of themselves reaches a terminal as text, never as a command or a line of its own', async () => {
  const mac = '52:54:00:99:00:01';
  const query = new URLSearchParams({ mac, serial: 'SN\u001b[2J\nforged', vendor: 'V\u009b31m\u202e' });
  expect((await appliance().ask(`/boot.ipxe?${query}`)).status).toBe(200);
  for (const command of ['events', 'machines']) {
    const { stdout } = await appliance().cli(command);
    expect(stdout, command).toContain(mac);
    const lines = stdout.split('\n');
    expect(
      lines.filter((line) => /^forged|[\p{Cc}\p{Cf}]/u.test(line)),
      command,
    ).toEqual([]);
  }
});

it('answers thousands of odd requests with the JSON of an error, or with what was asked, and never with a fault', async () => {
  const { server } = appliance();
  const seed = Math.floor(Math.random() * 1e9);
  const random = pickFrom(seed);
  const token = await appliance().token();
  const slow = Array.from({ length: 50 }, () => slowSender(server.httpPort));
  const statuses = new Map<number, number>();
  let left = REQUESTS;
  const worker = async (): Promise<void> => {
    while (left-- > 0) {
      const request = oddRequest(random, token);
      const answer = await exchange(server.httpPort, request, GLANCE_MS);
      const about = `seed ${seed}: ${JSON.stringify(request.slice(0, 300))} -> ${answer.slice(0, 300)}`;
      const status = expectHarmless(answer, about);
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  for (const socket of slow) socket.destroy();
  // Not everything was refused for the same reason.
  for (const status of [200, 400, 401, 404, 431])
    expect(statuses.get(status), `${status}`).toBeGreaterThan(0);
  await expectUnharmed(appliance());
});

it('is not harmed by what is neither HTTP nor TLS', async () => {
  const { server } = appliance();
  const texts = [
    '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003'.padEnd(200, '\u0007'),
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'SSH-2.0-OpenSSH_9.2\r\n',
    'GET /\r\n\r\n',
    '\r\n\r\n\r\n',
    '\u0000'.repeat(70_000),
    'GET / HTTP/1.1\r\nhost: x\r\n\r\n',
  ];
  for (const port of [server.httpPort, server.httpsPort]) {
    await Promise.all(texts.map((text) => exchange(port, text, GLANCE_MS)));
  }
  await expectUnharmed(appliance());
});

it('refuses a body that is too large, also to those who may send one', async () => {
  const { server } = appliance();
  const token = await appliance().token();
  const head = `POST /api/v1/inventory/reload HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer ${token}\r\ncontent-type: application/json\r\n`;
  const large = await exchange(
    server.httpPort,
    `${head}content-length: 2000000\r\n\r\n${'x'.repeat(2_000_000)}`,
  );
  expect(expectHarmless(large, large.slice(0, 500))).toBe(413);
  const broken = await exchange(server.httpPort, `${head}content-length: 4\r\n\r\n{"a"`);
  expect(expectHarmless(broken, broken)).toBe(400);
});

it('answers nothing on HTTP/1.0 without a name that needs one', async () => {
  const { server } = appliance();
  const token = await appliance().token();
  const request = `POST /api/v1/inventory/reload HTTP/1.0\r\nauthorization: Bearer ${token}\r\n\r\n`;
  const answer = await exchange(server.httpPort, request);
  expect(expectHarmless(answer, answer)).toBe(403);
});

it('is not harmed by odd datagrams on its TFTP port', async () => {
  const { server } = appliance();
  const socket = createSocket('udp4');
  onTestFinished(() => void socket.close());
  const random = pickFrom(1);
  const send = promisify((bytes: Buffer, done: (error: Error | null) => void) =>
    socket.send(bytes, server.tftpPort, '127.0.0.1', done),
  );
  for (let n = 0; n < 500; n++) {
    const length = [0, 1, 2, 3, 4, 20, 100, 600, 1400][Math.floor(random() * 9)]!;
    const bytes = Buffer.from(Array.from({ length }, () => Math.floor(random() * 256)));
    if (length > 2) bytes.writeUInt16BE(Math.floor(random() * 8), 0);
    await send(bytes);
  }
  await expectUnharmed(appliance());
});

it.skipIf(!canSendRaw)('is not harmed by a datagram from port 0, which nobody can answer', async () => {
  const { server } = appliance();
  // Only a raw socket can send from there; Perl is on every Debian.
  const script = `use Socket; socket(my $s, PF_INET, SOCK_RAW, 17) or die $!;
    my $read = "\\0\\1lpxelinux.0\\0octet\\0";
    send($s, pack("n4", 0, $ARGV[0], 8 + length $read, 0) . $read, 0, pack_sockaddr_in(0, inet_aton("127.0.0.1"))) or die $!`;
  await promisify(execFile)('perl', ['-e', script, String(server.tftpPort)]);
  await expectUnharmed(appliance());
});

it('a crowd of strangers can not talk down what is said about a wrong token', async () => {
  const get = (path: string, localAddress: string) =>
    new Promise<void>((resolve, reject) => {
      const { httpPort: port } = appliance().server;
      request({ host: '127.0.0.1', port, path, localAddress, agent: false }, (response) =>
        response.resume().once('end', resolve),
      )
        .once('error', reject)
        .end();
    });
  // More of them, each with more to say, than are listened to within a minute.
  for (let machine = 0; machine < 100; machine++) {
    const mac = `52:54:00:98:00:${machine.toString(16).padStart(2, '0')}`;
    const crowd = Array.from({ length: 22 }, (_, n) => get(`/boot.ipxe?mac=${mac}`, `127.0.7.${n + 1}`));
    await Promise.all(crowd);
  }
  await get(`/boot/${'x'.repeat(22)}/pointer.ign`, '127.0.9.9');
  await until('it is told', async () =>
    (await appliance().events('kind=boot.token-refused&limit=1000')).some((event) =>
      JSON.stringify(event.data).includes('127.0.9.9'),
    ),
  );
});

/** Still the same process, still serving, and it has nothing to complain about. */
async function expectUnharmed(one: Appliance): Promise<void> {
  expect(await until('it answers', () => one.readyz())).toMatchObject({ status: 200 });
  expect(one.hasEnded).toBe(false);
  expect(one.stderr).not.toMatch(/"level":(50|60)/);
}

/** Looks at every answer (what follows a request may be taken for another); returns the last status, 0 for none. */
function expectHarmless(answers: string, about: string): number {
  expect(answers, about).not.toMatch(/\n\s+at |node:internal|node_modules|root:x:0/);
  let last = 0;
  for (const answer of answers.split(/(?=HTTP\/1\.1 \d{3} )/)) {
    if (answer === '') continue;
    last = Number(/^HTTP\/1\.1 (\d{3}) /.exec(answer)?.[1]);
    expect(last, about).toBeGreaterThanOrEqual(100);
    expect(last, about).toBeLessThan(500);
    if (last >= 400) expectErrorBody(answer, about);
  }
  return last;
}

function expectErrorBody(answer: string, about: string): void {
  expect(answer, about).toMatch(/content-type: application\/json/i);
  expect(answer, about).toMatch(/x-railhead-api: v1/i);
  const body = answer.slice(answer.indexOf('\r\n\r\n') + 4);
  if (body === '') return; // to HEAD
  expect(() => JSON.parse(body), about).not.toThrow();
  const { error } = JSON.parse(body) as { error: unknown };
  expect(error, about).toMatchObject({ code: expect.stringMatching(/^RH_/), message: expect.any(String) });
  expect(error, about).not.toMatchObject({ code: 'RH_INTERNAL' });
}

type Random = () => number;

function oddRequest(random: Random, token: string): string {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const maybe = (chance: number): boolean => random() < chance;
  let path = pick(PATHS);
  if (maybe(0.3)) path += `${maybe(0.5) ? '/' : ''}${pick(ODDITIES)}`;
  if (maybe(0.3)) path += `?${pick(QUERY_NAMES)}=${pick(ODDITIES)}&${pick(QUERY_NAMES)}=${pick(ODDITIES)}`;
  if (maybe(0.02)) path = path.replaceAll('/', ' ');
  const lines = [
    `${pick(METHODS)} ${path} ${maybe(0.95) ? 'HTTP/1.1' : pick(['HTTP/1.0', 'HTTP/9.9', 'HTTP', ''])}`,
  ];
  if (maybe(0.95)) lines.push('host: 127.0.0.1');
  if (maybe(0.5)) lines.push(`authorization: Bearer ${token}`);
  lines.push('connection: close');
  while (maybe(0.4)) lines.push(pick(HEADERS));
  const body = maybe(0.3) ? pick(BODIES) : '';
  if (body !== '' && maybe(0.7)) lines.push(`content-length: ${Buffer.byteLength(body, 'latin1')}`);
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

/** Sends this, and returns what comes back until the connection ends; nothing when it only waits for more. */
function exchange(port: number, request: string, patienceMs = PATIENCE_MS): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' });
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let isGivenUp = false;
    const timer = setTimeout(() => {
      isGivenUp = true;
      socket.destroy();
    }, patienceMs);
    socket.on('error', () => {});
    socket.on('data', (chunk) => chunks.push(chunk));
    socket.on('close', () => {
      clearTimeout(timer);
      resolve(isGivenUp ? '' : Buffer.concat(chunks).toString('latin1'));
    });
    socket.end(Buffer.from(request, 'latin1'));
  });
}

/** A byte now and then, and never the end. */
function slowSender(port: number): Socket {
  const socket = connect({ port, host: '127.0.0.1' });
  socket.on('error', () => {});
  const text = 'POST /api/v1/inventory/reload HTTP/1.1\r\nhost: localhost\r\nx: ';
  let sent = 0;
  const timer = setInterval(() => socket.write(text[sent++] ?? 'x'), 20);
  const end = (): void => void socket.destroy();
  socket.once('close', () => clearInterval(timer));
  onTestFinished(end);
  void once(socket, 'connect').catch(() => {});
  return socket;
}

function pickFrom(seed: number): Random {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}
