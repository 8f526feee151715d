import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { Event } from '../../server/events/kinds.ts';
import type { HostSummary } from '../../server/machine/describe-host.ts';
import { stagesFor } from '../../server/simulation/stages.ts';
import type { Summary } from '../../server/simulation/summary.ts';
import {
  type Appliance,
  hasTerminal,
  launchAppliance,
  NODE,
  newSite,
  RAILHEAD,
  type Site,
  siteEnv,
  startRailhead,
} from '../support/appliance.ts';
import { cliOn } from '../support/cli.ts';
import { until } from '../support/poll.ts';
import { lastDescendant } from '../support/processes.ts';

// Longer than machines try again: what a simulation says at its end tells more than that there was none.
vi.setConfig({ testTimeout: 240_000 });

/** Small files: what is tested is the way, not the bytes. */
const QUICK = ['--speed', 'max', '--image-size', '1', '--json'];
const SERVED = ['kernel-sent', 'initrd-sent', 'pointer-sent'];
const LAST = 'provisioned';

const LOADERS = { 'lpxelinux.0': 9100, 'ldlinux.c32': 11_900, 'snponly.efi': 23_000, 'undionly.kpxe': 7200 };

/** A site with boot loaders of the right names. */
async function siteWithLoaders(): Promise<Site> {
  const site = await newSite();
  await mkdir(join(site.dir, 'boot'));
  for (const [name, bytes] of Object.entries(LOADERS))
    await writeFile(join(site.dir, 'boot', name), Buffer.alloc(bytes, name));
  return site;
}

async function start(site: Site, env: Record<string, string> = {}): Promise<Appliance> {
  return launchAppliance(site, { env }).running();
}

async function simulate(appliance: Appliance, ...flags: string[]): Promise<Summary> {
  const { code, stdout, stderr } = await appliance.cli('simulate', ...QUICK, ...flags);
  expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout) as Summary;
}

async function hosts(appliance: Appliance): Promise<HostSummary[]> {
  return JSON.parse((await appliance.cli('hosts', '--json')).stdout) as HostSummary[];
}

/** Every stage of this host's newest boot, in the order of the log. */
async function stagesOf(appliance: Appliance, host: string): Promise<string[]> {
  const events = await appliance.events(`host=${host}&kind=boot.stage&limit=1000`);
  const last = events.at(-1)?.attempt;
  return events
    .filter(({ attempt }) => attempt === last)
    .map((event) => (event as Extract<Event, { kind: 'boot.stage' }>).data.stage);
}

async function expectAllThere(appliance: Appliance, count: number): Promise<void> {
  const all = await hosts(appliance);
  const simulated = all.filter(({ name }) => name.startsWith('sim-'));
  expect(simulated).toHaveLength(count);
  expect(new Set(simulated.map(({ state }) => state))).toEqual(new Set(['initialized']));
  expect(all.filter(({ name }) => /^n\d$/.test(name)).map(({ state }) => state)).toEqual(
    Array(3).fill('assigned'),
  );
  const reported = stagesFor('ram').first.map(({ stage }) => stage as string);
  for (const { name } of simulated) {
    const stages = await stagesOf(appliance, name);
    expect(
      stages.filter((stage) => reported.includes(stage)),
      name,
    ).toEqual(reported);
    for (const stage of SERVED) expect(stages, name).toContain(stage);
  }
}

describe('railhead simulate', () => {
  it('brings 20 machines to their last stage, and takes them away again', async () => {
    const site = await siteWithLoaders();
    const before = await readdir(site.inventory);
    const appliance = await start(site);
    const summary = await simulate(appliance, '--hosts', '20');
    expect(summary).toMatchObject({
      hosts: 20,
      reached: { count: 20, stages: { [LAST]: 20 } },
      failed: { count: 0, reasons: [] },
      missing: [],
    });
    const image = 1024 * 1024;
    expect(summary.http.bytes).toBeGreaterThanOrEqual(20 * image);
    expect(summary.tftp.bytes).toBeGreaterThan(10 * (LOADERS['lpxelinux.0'] + LOADERS['ldlinux.c32']));
    await expectAllThere(appliance, 20);
    const events = await appliance.events('kind=boot.ambiguous');
    expect(events).toEqual([]);
    expect(await readdir(site.inventory)).toContain('simulated.yaml');

    // Again, with fewer of them: the same hosts boot anew.
    expect(await simulate(appliance, '--hosts', '4')).toMatchObject({ reached: { count: 4 } });
    await expectAllThere(appliance, 4);

    const removed = await appliance.cli('simulate', '--remove');
    expect(removed).toMatchObject({ code: 0, stdout: expect.stringContaining('simulated.yaml') });
    expect(await readdir(site.inventory)).toEqual(before);
    expect(await readdir(join(site.dir, 'assets'))).toEqual([]);
    expect((await hosts(appliance)).map(({ name }) => name)).toEqual(['n1', 'n2', 'n3']);
    expect(await appliance.cli('simulate', '--remove')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('no simulation'),
    });
  });

  it('installs to disk, boots from it, and finds that so the next time', async () => {
    const appliance = await start(await siteWithLoaders());
    const flags = ['--hosts', '4', '--install', 'disk'];
    expect(await simulate(appliance, ...flags)).toMatchObject({
      reached: { count: 4, stages: { [LAST]: 4 } },
    });
    for (const name of ['sim-001', 'sim-002']) expect(await stagesOf(appliance, name)).toContain('installed');
    expect(await simulate(appliance, ...flags)).toMatchObject({
      reached: { stages: { 'boots its disk': 4 } },
    });
  });

  it('gets there although every tenth packet is lost', async () => {
    const appliance = await start(await siteWithLoaders());
    const summary = await simulate(appliance, '--hosts', '8', '--loss', '0.1');
    expect(summary.reached.count).toBe(8);
    expect(summary.tftp.retransmits).toBeGreaterThan(0);
    await expectAllThere(appliance, 8);
  });

  it('needs no boot loaders on the server, and says which are not there', async () => {
    const appliance = await start(await newSite());
    const { code, stdout } = await appliance.cli(
      'simulate',
      '--hosts',
      '4',
      '--speed',
      'max',
      '--image-size',
      '1',
    );
    expect(code, stdout).toBe(0);
    expect(stdout).toMatch(/reached their last stage +4 /);
    for (const file of Object.keys(LOADERS)) expect(stdout).toContain(file);
  });

  it('goes on when the server is killed and comes back', async () => {
    const site = await siteWithLoaders();
    const first = await start(site);
    const { httpPort, httpsPort, tftpPort } = first.server;
    const running = startRailhead(
      ['simulate', '--hosts', '12', '--speed', '8', '--image-size', '4', '--json'],
      {
        cwd: site.dir,
        env: siteEnv(site),
      },
    );
    await until(
      'boots are under way',
      async () => (await first.events('kind=boot.attempt-opened'))[3] !== undefined,
    );
    await first.kill();
    const second = await start(site, {
      RAILHEAD_HTTP_PORT: String(httpPort),
      RAILHEAD_HTTPS_PORT: String(httpsPort),
      RAILHEAD_TFTP_PORT: String(tftpPort),
    });
    const { code, stdout, stderr } = await running.ended;
    expect({ code, stderr }, stdout).toEqual({ code: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({ reached: { count: 12 }, failed: { count: 0 } });
    const states = (await hosts(second))
      .filter(({ name }) => name.startsWith('sim-'))
      .map(({ state }) => state);
    expect(states).toEqual(Array(12).fill('initialized'));
  });

  it('leaves alone what it did not write', async () => {
    const site = await newSite();
    const file = join(site.inventory, 'simulated.yaml');
    await writeFile(file, 'hosts: []\n');
    const image = join(site.dir, 'assets', 'flatcar', 'stable', 'amd64-usr', '0.0.0');
    await start(site);
    const cli = cliOn(site);
    for (const flags of [['--hosts', '2'], ['--remove']]) {
      const { code, stderr } = await cli('simulate', ...flags);
      expect({ code, stderr }).toEqual({ code: 3, stderr: expect.stringContaining('RH_SIMULATION_REFUSED') });
    }
    expect(await readFile(file, 'utf8')).toBe('hosts: []\n');
    await writeFile(file, `hosts:\n  - {name: n9, pool: workers, macs: ['02:52:48:00:00:01']}\n`);
    await cli('reload');
    // Another name: now it is only that a host has a simulated one's address.
    await writeFile(join(site.inventory, 'mine.yaml'), await readFile(file, 'utf8'));
    await rm(file);
    const clash = await cli('simulate', '--hosts', '2');
    expect(clash).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/RH_INVENTORY_INVALID[\s\S]*Nothing was changed/),
    });
    expect(await readdir(site.inventory)).not.toContain('simulated.yaml');
    await rm(join(site.inventory, 'mine.yaml'));
    await mkdir(image, { recursive: true });
    await writeFile(join(image, 'real'), 'x');
    const foreign = await cli('simulate', '--hosts', '2');
    expect(foreign).toMatchObject({ code: 3, stderr: expect.stringContaining('not made by a simulation') });
    expect(await readdir(image)).toEqual(['real']);
    expect(await readdir(site.inventory)).toEqual(['example.yaml']);
  });

  it('says what is wrong with the command line, the server and TFTP', async () => {
    const site = await newSite();
    const run = (...flags: string[]) => cliOn(site)('simulate', ...flags);
    for (const flags of [
      [],
      ['--hosts', '0'],
      ['--hosts', '5001'],
      ['--hosts', '1.5'],
      ['--hosts', '2', '--loss', '0.6'],
      ['--hosts', '2', '--speed', '-1'],
      ['--hosts', '2', '--install', 'tape'],
      ['--hosts', '2', '--tftp', '10.0.0.5'],
    ]) {
      expect(await run(...flags), flags.join(' ')).toMatchObject({
        code: 2,
        stderr: expect.stringContaining('RH_USAGE'),
      });
    }
    expect(await run('--hosts', '2')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('No Railhead'),
    });
    await start(site);
    const silent = await run('--hosts', '2', '--tftp', `127.0.0.1:${await closedPort()}`);
    expect(silent).toMatchObject({ code: 3, stderr: expect.stringContaining('TFTP does not answer') });
    expect(await readdir(site.inventory)).toEqual(['example.yaml']);
  });

  it.skipIf(!hasTerminal)('shows how it is going on a terminal, and stops at Ctrl+C', async () => {
    const site = await newSite();
    await start(site);
    const command = `${NODE} ${RAILHEAD} simulate --hosts 4 --speed 1 --image-size 1`;
    const running = startRailhead([], {
      command: ['script', '-qefc', command, '/dev/null'],
      cwd: site.dir,
      env: siteEnv(site),
    });
    await until('it shows something', () => /done 0\/4/.test(running.stdout));
    process.kill(await lastDescendant(running.pid), 'SIGINT');
    const { code, stdout } = await running.ended;
    expect(stdout).toMatch(/stopped under way +4/);
    expect(code).toBe(1);
  });
});

/** One that was free a moment ago. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return typeof address === 'object' && address !== null ? address.port : 0;
}
