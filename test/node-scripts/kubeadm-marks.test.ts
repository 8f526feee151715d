import { spawnSync } from 'node:child_process';
import { mkdir, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { until } from '../support/poll.ts';
import { tempFolder } from '../support/temp.ts';
import { type Shell, shells, type TestNode } from './node.ts';
import { StandIn } from './stand-in.ts';

const SHELLS = await shells();

/** What the server answers: run kubeadm with this. */
async function answerFor(action: string): Promise<Buffer> {
  const folder = await tempFolder();
  await mkdir(join(folder, 'pki'));
  await writeFile(join(folder, 'action'), `${action}\n`);
  await writeFile(join(folder, 'config.yaml'), 'kind: JoinConfiguration\n');
  return spawnSync('tar', ['-c', '-C', folder, '.']).stdout;
}

async function member(shell: Shell) {
  const server = await StandIn.start();
  const node = await server.machine(shell);
  await node.program('kubeadm', `echo "$1" >>'${node.path('calls')}'`);
  expect(await node.run('railhead-node', ['register'])).toMatchObject({ code: 0 });
  const archive = await answerFor('join');
  let hears = true;
  server.override = ({ path, body }) => {
    if (path === '/agent/v1/kubeadm') return { status: 200, body: archive };
    return body.stage === 'kubeadm-done' && !hears ? { status: 500, body: 'not now' } : undefined;
  };
  const env = { RAILHEAD_KUBERNETES: node.path('kubernetes') };
  return {
    server,
    node,
    kubeadm: () => node.start('railhead-node', ['kubeadm'], env),
    setHears: (value: boolean) => (hears = value),
    calls: () => node.text('calls').catch(() => ''),
  };
}

const hasJoined = (node: TestNode): Promise<boolean> =>
  stat(node.path('kubernetes/railhead-joined')).then(
    () => true,
    () => false,
  );

describe.each(SHELLS)('railhead-node kubeadm in $name', (shell) => {
  it('is done and not reported when the power is cut: the next boot reports it, and kubeadm is not run again', async () => {
    const { server, node, kubeadm, setHears, calls } = await member(shell);
    setHears(false);
    const cut = kubeadm();
    await until('it has tried to report', () => cut.said().includes('not reported yet'));
    await cut.stop();
    expect(await hasJoined(node)).toBe(false);

    setHears(true);
    await rm(node.path('run'), { recursive: true });
    expect(await node.run('railhead-node', ['register'])).toMatchObject({ code: 0 });
    expect(await kubeadm().ended).toMatchObject({ code: 0 });
    expect(await hasJoined(node)).toBe(true);
    expect(await calls()).toBe('join\n');
    expect(server.at('kubeadm')).toHaveLength(1);
    expect(server.at('stage').at(-1)!.body.stage).toBe('kubeadm-done');
  });

  it('is asked for again when the power is cut while it runs', async () => {
    const { server, node, kubeadm, calls } = await member(shell);
    await node.program('kubeadm', `echo "$1" >>'${node.path('calls')}'; exec sleep 60`);
    const cut = kubeadm();
    await until('it runs', async () => (await calls()) === 'join\n');
    await cut.stop();
    await node.program('kubeadm', `echo "$1" >>'${node.path('calls')}'`);
    expect(await kubeadm().ended).toMatchObject({ code: 0 });
    expect(await calls()).toBe('join\njoin\n');
    expect(server.at('kubeadm')).toHaveLength(2);
    expect(await hasJoined(node)).toBe(true);
  });
});
