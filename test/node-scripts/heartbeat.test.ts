import { rm } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { until } from '../support/poll.ts';
import { type Shell, shells, type TestNode } from './node.ts';
import { StandIn } from './stand-in.ts';

const SHELLS = await shells();
const SOON = { RAILHEAD_CANDIDATE_SECONDS: '0.2', RAILHEAD_REFUSED_SECONDS: '0.2' };

/** A machine that has registered. */
async function registered(shell: Shell): Promise<{ server: StandIn; node: TestNode }> {
  const server = await StandIn.start();
  const node = await server.machine(shell);
  await node.program('kubelet', 'echo Kubernetes v1.36.4');
  await node.program('containerd', 'echo containerd github.com/containerd/containerd/v2 v2.1.5 fcd43222d6b0');
  expect(await node.run('railhead-node', ['register'])).toMatchObject({ code: 0 });
  return { server, node };
}

describe.each(SHELLS)('railhead-node agent in $name', (shell) => {
  // What a shell could do differently is in the others.
  const isFirst = shell === SHELLS[0];
  it('sends heartbeats with the versions that run, as often as the server says', async () => {
    const { server, node } = await registered(shell);
    server.interval = 2;
    const agent = node.start('railhead-node', ['agent']);
    await until('there are two', () => server.at('heartbeat').length >= 2);
    const [first] = server.at('heartbeat');
    expect(first).toEqual({
      path: '/agent/v1/heartbeat',
      token: 'machine-token-00000001',
      body: {
        bootId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        versions: { os: expect.any(String), kubernetes: '1.36.4', containerd: '2.1.5' },
      },
    });
    expect(await node.text('run/interval')).toBe('2\n');
    // Extensions were merged.
    await node.program('kubelet', 'echo Kubernetes v1.36.5');
    await rm(node.path('run/versions'));
    await until('it notices', () =>
      server
        .at('heartbeat')
        .some(({ body }) => (body.versions as Record<string, string>).kubernetes === '1.36.5'),
    );
    // One that is not there is not told.
    for (const name of ['kubelet', 'containerd']) await node.program(name, 'exit 1');
    await rm(node.path('run/versions'));
    await until('it notices', () =>
      server.at('heartbeat').some(({ body }) => Object.keys(body.versions as object).join() === 'os'),
    );
    expect(agent.said()).toBe('');
    await agent.stop();
  });

  it.runIf(isFirst)('goes on when the server does, and says once that it did not answer', async () => {
    const { server, node } = await registered(shell);
    server.override = () => ({ status: 500, body: 'broken' });
    const agent = node.start('railhead-node', ['agent']);
    await until('it has asked three times', () => server.at('heartbeat').length >= 3);
    server.override = undefined;
    const before = server.at('heartbeat').length;
    await until('it goes on', () => server.at('heartbeat').length > before + 1);
    expect(agent.said()).toBe('railhead: heartbeat not accepted: broken\n');
    expect(server.at('register')).toHaveLength(1);
    await agent.stop();
  });

  it('registers again when its token is revoked, with the same secret', async () => {
    const { server, node } = await registered(shell);
    const agent = node.start('railhead-node', ['agent'], SOON);
    await until('it beats', () => server.at('heartbeat').length >= 1);
    server.revokeTokens();
    await until('it has a new token', () => server.asked.at(-1)?.token === 'machine-token-00000002');
    expect(server.identities).toHaveLength(1);
    expect(await node.text('run/token')).toBe('machine-token-00000002\n');

    // Another machine is the host now: this one is a candidate, until it is trusted.
    const { secret } = server.identities[0]!;
    server.trust('cd'.repeat(32));
    await until('it is a candidate', () => agent.said().includes('is a candidate'));
    server.trust(secret);
    await until('it is the host again', () => server.asked.at(-1)?.token === 'machine-token-00000004');
    expect(await node.text('state/identity')).toBe('host=n1\ngeneration=3\n');
    await agent.stop();
  });

  it('registers by itself when nobody has', async () => {
    const server = await StandIn.start();
    const node = await server.machine(shell);
    const agent = node.start('railhead-node', ['agent'], SOON);
    await until('it beats', () => server.at('heartbeat').length >= 1);
    await agent.stop();
  });

  it('announces that the machine stops, once, and not when only the agent does', async () => {
    const { server, node } = await registered(shell);
    await node.program('systemctl', 'echo running');
    expect(await node.run('railhead-node', ['rebooting'])).toMatchObject({ code: 0, stderr: '' });
    expect(server.at('heartbeat')).toEqual([]);
    await node.program('systemctl', '[ "$*" = is-system-running ] || exit 9; echo stopping; exit 1');
    expect(await node.run('railhead-node', ['rebooting'])).toMatchObject({
      code: 0,
      stderr: 'railhead: announced the reboot\n',
    });
    expect(server.at('heartbeat').map(({ body }) => body.rebooting)).toEqual([true]);
  });

  it.runIf(isFirst)('does not keep a machine from stopping', async () => {
    const { server, node } = await registered(shell);
    await node.program('systemctl', 'echo stopping');
    server.hangs = true;
    const begin = performance.now();
    const { code, stderr } = await node.run('railhead-node', ['rebooting']);
    expect(code).toBe(0);
    expect(stderr).toContain('reboot not announced: curl: (28)');
    expect(performance.now() - begin).toBeLessThan(20_000);
  });
});
