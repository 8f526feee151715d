import { existsSync } from 'node:fs';
import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { type Shell, shells, TestNode } from '../../node-scripts/node.ts';
import { type Appliance, edit, newSite, railhead, startAppliance } from '../../support/appliance.ts';
import { bootMachine, giveImage } from '../../support/booting.ts';
import { until } from '../../support/poll.ts';

/** The real script of a host asks a real appliance; a recorder stands in kubeadm's place. */
const SHELLS = await shells();

const MACS = { n1: '52:54:00:12:34:01', n2: '52:54:00:12:34:02' };

/** Writes down how it was called, and with what; fails when it is told to. */
const RECORDER = `
echo "kubeadm $*" >>"$RECORD/calls"
case $1 in
init | join)
  cp "$3" "$RECORD/config.yaml"
  ls -R "$RAILHEAD_KUBERNETES" >"$RECORD/files"
  [ ! -e "$RECORD/fail" ]
  ;;
esac`;

async function appliance(): Promise<Appliance> {
  const site = await newSite();
  await giveImage(site);
  // Its data partition is tested elsewhere.
  await edit(site, (text) => text.replace(/^ +disk: .*\n/m, ''));
  return startAppliance({
    data: site.data,
    inventory: site.inventory,
    env: { RAILHEAD_ASSETS: join(site.dir, 'assets') },
  });
}

async function registered(shell: Shell, server: Appliance, mac: string) {
  const node = await TestNode.make(shell);
  await node.configure(server, await bootMachine(server, mac));
  await node.program('kubeadm', RECORDER);
  await node.write('record/calls', '');
  const env = {
    RECORD: node.path('record'),
    RAILHEAD_KUBERNETES: node.path('kubernetes'),
    RAILHEAD_POLL_SECONDS: '1',
  };
  expect(await node.run('railhead-node', ['register'])).toMatchObject({ code: 0 });
  return { node, kubeadm: () => node.start('railhead-node', ['kubeadm'], env) };
}

beforeAll(() => expect(SHELLS.length).toBeGreaterThan(0));

describe.each(SHELLS)('railhead-node kubeadm in $name', (shell) => {
  it('begins the cluster; after a failure it resets and begins again; workers wait', async () => {
    const server = await appliance();
    const { node, kubeadm } = await registered(shell, server, MACS.n1);
    const worker = await registered(shell, server, MACS.n2);

    const waiting = worker.kubeadm();
    await until('the worker waits', () => waiting.said().includes('RH_CLUSTER_WAITS'));
    expect(waiting.said()).toContain('the first control-plane host of lab to begin');
    expect((await server.ask('/hosts/n2')).body).toContain('Waits for the first control-plane host of lab');

    await node.write('record/fail', '');
    expect(await kubeadm().ended).toMatchObject({ code: 1 });
    const work = node.path('run/kubeadm');
    expect(existsSync(work)).toBe(false);
    expect(existsSync(node.path('kubernetes/railhead-joined'))).toBe(false);
    const { rm } = await import('node:fs/promises');
    await rm(node.path('record/fail'));
    expect(await kubeadm().ended).toMatchObject({ code: 0 });

    const config = `--config ${work}/config.yaml`;
    expect((await node.text('record/calls')).trim().split('\n')).toEqual([
      `kubeadm init ${config}`,
      'kubeadm reset --force',
      `kubeadm init ${config}`,
    ]);
    expect(await node.text('record/config.yaml')).toContain('kind: InitConfiguration');
    for (const file of ['ca.crt', 'ca.key', 'etcd/ca.key', 'front-proxy-ca.key', 'sa.key', 'sa.pub']) {
      expect(existsSync(node.path('kubernetes/pki', file)), file).toBe(true);
    }
    expect((await stat(node.path('kubernetes/pki/ca.key'))).mode & 0o077).toBe(0);
    expect(await node.text('kubernetes/railhead/encryption.yaml')).toContain('secretbox');
    expect(existsSync(node.path('kubernetes/railhead-joined'))).toBe(true);
    expect(existsSync(work)).toBe(false);

    const kinds = (await server.events('limit=1000&host=n1')).map(
      ({ kind, data }) => `${kind} ${JSON.stringify(data)}`,
    );
    expect(kinds.filter((kind) => kind.startsWith('cluster.init-claimed'))).toHaveLength(1);
    expect(kinds).toContainEqual(expect.stringContaining('"stage":"kubeadm-done"'));
    // Asked once more, there is nothing to do.
    expect(await kubeadm().ended).toMatchObject({ code: 0 });
    expect((await node.text('record/calls')).trim().split('\n')).toHaveLength(3);
    await waiting.stop();
  });
});

describe('the command line', () => {
  it('shows clusters, gives kubeconfigs, moves secrets to another appliance', async () => {
    const server = await appliance();
    const [shell] = SHELLS;
    const { node, kubeadm } = await registered(shell!, server, MACS.n1);
    expect(await kubeadm().ended).toMatchObject({ code: 0 });
    const { site } = server;
    const cli = (...args: string[]) => railhead([...args, '--data', site.data], { cwd: site.dir });

    const shown = JSON.parse((await cli('cluster', 'list', '--json')).stdout);
    expect(shown).toMatchObject([{ name: 'lab', endpoint: '127.0.0.1:6443', init: { host: 'n1' } }]);
    const text = (await cli('cluster', 'show', 'lab')).stdout;
    expect(text).toMatch(/Begun {6}by n1/);
    expect(text).toMatch(/Expires {4}20\d\d-\d\d-\d\d {2}etcd CA/);

    const { code, stdout } = await cli('kubeconfig', 'lab', '--hours', '2');
    expect(code).toBe(0);
    expect(stdout).toContain('server: https://127.0.0.1:6443');
    expect(await cli('kubeconfig', 'lab', '--hours', '900')).toMatchObject({ code: 2 });
    expect((await cli('kubeconfig', 'lap')).stderr).toContain('There is no cluster "lap"');
    expect((await server.events('limit=100')).map(({ kind }) => kind)).toContain('cluster.kubeconfig-issued');

    expect((await cli('render', 'n1', '--what', 'kubeadm')).stdout).toContain('<secret: key of cluster CA>');
    expect(await cli('cluster', 'reinit', 'lab')).toMatchObject({ code: 2 });

    const passphrase = join(site.dir, 'passphrase');
    await writeFile(passphrase, 'correct horse\n');
    const file = join(site.dir, 'lab.secrets');
    const withPass = ['--passphrase-file', passphrase];
    expect(await cli('cluster', 'secrets', 'export', 'lab', file, ...withPass)).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await cli('cluster', 'secrets', 'export', 'lab', file, ...withPass)).toMatchObject({ code: 2 });
    expect((await cli('cluster', 'secrets', 'import', 'lab', file, ...withPass)).stderr).toContain(
      'has secrets already',
    );

    const other = await appliance();
    const there = (...args: string[]) => railhead([...args, '--data', other.site.data], { cwd: site.dir });
    expect(await there('cluster', 'secrets', 'import', 'lab', file, ...withPass)).toMatchObject({
      code: 0,
      stderr: '',
    });
    const hashOf = async (one: Appliance) =>
      JSON.parse((await one.ask('/api/v1/clusters/lab')).body).secrets.caHash;
    expect(await hashOf(other)).toBe(await hashOf(server));

    // Nothing of all that is anywhere to be read.
    const key = (await readFile(node.path('kubernetes/pki/ca.key'), 'utf8')).split('\n')[1]!;
    for (const said of [
      server.output,
      other.output,
      (await server.ask('/api/v1/events?limit=1000')).body,
      (await server.ask('/')).body,
    ]) {
      expect(said).not.toContain(key);
    }
  });
});
