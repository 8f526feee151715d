import { mkdir, rm, stat } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { until } from '../support/poll.ts';
import { realProgram, shells, type TestNode } from './node.ts';
import { BOOT_TOKEN, StandIn } from './stand-in.ts';

const SHELLS = await shells();
/** Nobody waits for half a minute here. */
const SOON = { RAILHEAD_CANDIDATE_SECONDS: '0.2', RAILHEAD_REFUSED_SECONDS: '0.2' };
const SECRET = /^[0-9a-f]{64}$/;

const secretOf = async (node: TestNode): Promise<string> => (await node.text('state/secret')).trim();
const modeOf = async (node: TestNode, path: string): Promise<number> =>
  (await stat(node.path(path))).mode & 0o777;
const exists = (node: TestNode, path: string): Promise<boolean> =>
  stat(node.path(path)).then(
    () => true,
    () => false,
  );
/** What is in RAM is lost. */
const reboot = (node: TestNode): Promise<void> => rm(node.path('run'), { recursive: true, force: true });

async function register(node: TestNode): Promise<void> {
  const { code, stderr } = await node.run('railhead-node', ['register'], SOON);
  expect(code, stderr).toBe(0);
}

beforeAll(() => expect(SHELLS.length).toBeGreaterThan(0));

describe.each(SHELLS)('railhead-node register in $name', (shell) => {
  it('says who it is, and keeps what it is told', async () => {
    const server = await StandIn.start();
    const node = await server.machine(shell);
    await node.write('dmi/product_uuid', ' 4c4c4544-0042\n');
    await node.write('dmi/product_serial', 'a "b\\\u0007 \u00ff\n');
    const end = await node.run('railhead-node', ['register'], { RAILHEAD_DMI: node.path('dmi') });
    expect(end, end.stderr).toMatchObject({ code: 0 });
    expect(end.stderr).toContain('registered as n1, generation 1');
    const secret = await secretOf(node);
    expect(secret).toMatch(SECRET);
    expect(server.asked).toEqual([
      {
        path: '/agent/v1/register',
        token: BOOT_TOKEN,
        body: {
          secret,
          bootId: expect.stringMatching(/^[0-9a-f-]{36}$/),
          agentVersion: '2',
          hardware: { uuid: '4c4c4544-0042', serial: 'a "b\\' },
          facts: { os: expect.any(String) },
        },
      },
    ]);
    expect(await node.text('state/identity')).toBe('host=n1\ngeneration=1\n');
    expect(await node.text('run/identity')).toBe('host=n1\ngeneration=1\n');
    expect(await node.text('run/token')).toBe('machine-token-00000001\n');
    expect(await node.text('run/interval')).toBe('1\n');
    for (const file of ['state/secret', 'run/token']) expect(await modeOf(node, file), file).toBe(0o600);
    expect(await modeOf(node, 'state')).toBe(0o700);
  });

  it('is the same machine in every boot, with a token of the boot or without', async () => {
    const server = await StandIn.start();
    const node = await server.machine(shell);
    await register(node);
    const secret = await secretOf(node);
    server.isBootTokenValid = false;
    await reboot(node);
    await register(node);
    await rm(node.path('etc/token'));
    await reboot(node);
    await register(node);
    expect(server.identities).toEqual([{ secret, host: 'n1', generation: 1 }]);
    expect(server.asked.map(({ token }) => token)).toEqual([BOOT_TOKEN, BOOT_TOKEN, undefined]);
    expect(server.asked.map(({ body }) => body.partition)).toEqual([
      undefined,
      { host: 'n1', generation: 1 },
      { host: 'n1', generation: 1 },
    ]);
  });

  // Busybox does not look for another `sync` than its own.
  it.skipIf(shell.applets)('has its secret on the disk before anybody sees it', async () => {
    const server = await StandIn.start();
    const node = await server.machine(shell);
    const log = node.path('order');
    const seen = `"$(cd '${node.dir}' && ls state | grep -v identity | tr '\\n' ' ')"`;
    await node.program('sync', `echo "sync" ${seen} >>'${log}'`);
    await node.program('curl', `echo "curl" ${seen} >>'${log}'; exec '${realProgram('curl')}' "$@"`);
    await register(node);
    expect((await node.text('order')).split('\n').slice(0, 3)).toEqual([
      'sync secret.new ',
      'sync secret ',
      'curl secret ',
    ]);
    // One that a process has left that was killed is not believed to be on the disk.
    await rm(log);
    await register(node);
    expect((await node.text('order')).split('\n').slice(0, 2)).toEqual(['sync secret ', 'curl secret ']);
  });

  it('a lost reply, and a power cut after it, change nothing', async () => {
    const server = await StandIn.start();
    server.repliesToLose = 1;
    const node = await server.machine(shell);
    await register(node);
    expect(server.asked).toHaveLength(2);
    expect(server.identities).toEqual([{ secret: await secretOf(node), host: 'n1', generation: 1 }]);

    const other = await StandIn.start();
    other.repliesToLose = 1000;
    const cut = await other.machine(shell);
    const running = cut.start('railhead-node', ['register'], SOON);
    await until('it has registered', () => other.identities.length === 1);
    await running.stop();
    other.repliesToLose = 0;
    await reboot(cut);
    await register(cut);
    expect(other.identities).toEqual([{ secret: await secretOf(cut), host: 'n1', generation: 1 }]);
  });

  it('a power cut after the secret is written: the next boot has the same one', async () => {
    const server = await StandIn.start();
    const node = await server.machine(shell);
    await node.write('etc/node.env', 'RAILHEAD_URL=https://127.0.0.1:1\nRAILHEAD_HOST=n1\n');
    const running = node.start('railhead-node', ['register'], SOON);
    await until('it has asked in vain', () => running.said().includes('not registered yet: curl: (7)'));
    await running.stop();
    const secret = await secretOf(node);
    await reboot(node);
    await server.configure(node);
    await register(node);
    expect(server.identities).toEqual([{ secret, host: 'n1', generation: 1 }]);
  });

  it.each([
    ['is empty', ''],
    ['is too short', 'a'.repeat(63)],
    ['has something else in it', `${'a'.repeat(63)}"`],
    ['has zeros in it', '\0'.repeat(64)],
  ])('a file of a secret that %s is replaced', async (_what, content) => {
    const server = await StandIn.start();
    const node = await server.machine(shell);
    await node.write('state/secret', content);
    await node.write('state/secret.new', 'half');
    await register(node);
    const secret = await secretOf(node);
    expect(secret).toMatch(SECRET);
    expect(server.identities).toEqual([{ secret, host: 'n1', generation: 1 }]);
  });

  it('a candidate asks again, says why once, and is accepted without a reboot', async () => {
    const server = await StandIn.start();
    server.isWindowOpen = false;
    const node = await server.machine(shell);
    const running = node.start('railhead-node', ['register'], SOON);
    await until('it has asked three times', () => server.asked.length >= 3);
    expect(
      running.said().match(/is a candidate; asking every 0\.2 seconds: .*an operator to trust/g),
    ).toHaveLength(1);
    for (const file of ['run/token', 'run/identity', 'state/identity']) {
      expect(await exists(node, file), file).toBe(false);
    }
    const secret = await secretOf(node);
    server.trust(secret);
    expect(await running.ended).toMatchObject({ code: 0 });
    expect(new Set(server.asked.map(({ body }) => body.secret))).toEqual(new Set([secret]));
    expect(await node.text('state/identity')).toBe('host=n1\ngeneration=1\n');
  });

  it('a machine that is refused asks seldom, says so in plain words, and goes on when it is accepted', async () => {
    const server = await StandIn.start();
    server.isBootTokenValid = false;
    const node = await server.machine(shell);
    const slow = node.start('railhead-node', ['register']);
    await until('it is turned away', () => slow.said().includes('asking every 300 seconds'));
    expect(slow.said()).toContain('the server does not know this machine and its boot token has ended');
    await slow.stop();
    const running = node.start('railhead-node', ['register'], SOON);
    await until('it asks again', () => server.asked.length >= 3);
    server.trust(await secretOf(node));
    expect(await running.ended).toMatchObject({ code: 0 });
  });

  it('answers that are not valid are no answers', async () => {
    const server = await StandIn.start();
    const answers = ['host=n1\ngeneration=1\n', 'host=../n1\ngeneration=1\ntoken=t\n'];
    server.override = () => {
      const body = answers.shift();
      return body === undefined ? undefined : { status: 200, body };
    };
    const node = await server.machine(shell);
    const end = await node.run('railhead-node', ['register'], SOON);
    expect(end, end.stderr).toMatchObject({ code: 0 });
    expect(server.asked).toHaveLength(3);
    expect(end.stderr.match(/not registered yet: the server's answer is not valid/g)).toHaveLength(1);
  });

  it('says which host its partition belongs to; one of another host is not used, even if it is accepted', async () => {
    const server = await StandIn.start();
    const node = await server.machine(shell);
    const secret = 'ab'.repeat(32);
    await node.write('state/secret', `${secret}\n`);
    await node.write('state/identity', 'host=n2\ngeneration=3\n');
    const running = node.start('railhead-node', ['register'], SOON);
    await until('it asks again', () => server.asked.length >= 2);
    expect(running.said()).toContain('the data partition belongs to n2');
    expect(server.asked[0]!.body).toMatchObject({ secret, partition: { host: 'n2', generation: 3 } });

    server.isCareless = true;
    const message =
      'registered as n1, but the data of this machine belongs to n2 and is not used; `railhead reinstall n1` erases it';
    await until('it has asked some times', () => server.identities.length === 1 && server.asked.length >= 6);
    expect(server.at('stage').map(({ body }) => body)).toMatchObject([{ stage: 'failed', message }]);
    await running.stop();
    expect(await exists(node, 'run/identity')).toBe(false);
    expect(await node.text('state/identity')).toBe('host=n2\ngeneration=3\n');
    expect(await secretOf(node)).toBe(secret);
  });

  it('does not make a secret in RAM when the data partition is not mounted', async () => {
    const server = await StandIn.start();
    const node = await server.machine(shell);
    await node.write('etc/data.env', '');
    await mkdir(node.path('data'));
    const { code, stderr } = await node.run('railhead-node', ['register']);
    expect(code).toBe(1);
    expect(stderr).toContain('the data partition is not mounted');
    expect(await exists(node, 'state')).toBe(false);
    expect(server.asked).toEqual([]);
  });

  it('no process shows a token or the secret in its arguments', async () => {
    const server = await StandIn.start();
    const node = await server.machine(shell);
    // Looks at all arguments of all processes while a request is about to be made.
    await node.program(
      'curl',
      `cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' >>${node.path('seen')}\nexec '${realProgram('curl')}' "$@"`,
    );
    await node.program('systemctl', 'echo stopping');
    for (const args of [['register'], ['report', 'boot-complete', 'a message'], ['rebooting']]) {
      expect(await node.run('railhead-node', args)).toMatchObject({ code: 0 });
    }
    const seen = await node.text('seen');
    for (const path of ['register', 'stage', 'heartbeat']) {
      expect(seen).toContain(`${server.url}/agent/v1/${path}`);
    }
    for (const secret of [BOOT_TOKEN, (await node.text('run/token')).trim(), await secretOf(node)]) {
      expect(secret.length).toBeGreaterThan(20);
      expect(seen).not.toContain(secret);
    }
  });
});
