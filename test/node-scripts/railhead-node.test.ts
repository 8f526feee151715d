import { stat } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { ensureAuthority } from '../../server/access/certificate.ts';
import type { Event } from '../../server/events/kinds.ts';
import { newSite, startAppliance } from '../support/appliance.ts';
import { bootMachine, giveImage, sharedFleet } from '../support/booting.ts';
import { until } from '../support/poll.ts';
import { tempFolder } from '../support/temp.ts';
import { type Shell, shells, TestNode } from './node.ts';

const SHELLS = await shells();

const fleet = sharedFleet(
  (hosts) => `
profiles: [{name: flatcar, os: flatcar, version: 4593.2.5}]
pools: [{name: fleet, profile: flatcar}]
${hosts}`,
);

/** A machine that the appliance has given a configuration to. */
async function booted(shell: Shell) {
  const { name, mac } = fleet.next();
  const token = await bootMachine(fleet.appliance(), mac);
  const node = await TestNode.make(shell);
  await node.configure(fleet.appliance(), token);
  return { name, node, token };
}

const kinds = async (kind: string, host: string, appliance = fleet.appliance()): Promise<Event[]> =>
  (await appliance.events(`limit=1000&host=${host}`)).filter((event) => event.kind === kind);

const messages = async (host: string, appliance = fleet.appliance()) =>
  (await kinds('boot.stage', host, appliance)).flatMap(({ data }) =>
    'message' in data ? [data.message] : [],
  );

beforeAll(() => expect(SHELLS.length).toBeGreaterThan(0));

describe.each(SHELLS)('railhead-node in $name', (shell) => {
  it('registers once: again does nothing, after a crash it gets the same token, and nobody is alarmed', async () => {
    const { name, node } = await booted(shell);
    const register = async () =>
      expect(await node.run('railhead-node', ['register'])).toMatchObject({ code: 0 });
    await register();
    const token = await node.text('state/token');
    expect(token).toMatch(/^[\w-]{22}\n$/);
    for (const file of ['token', 'nonce'])
      expect((await stat(node.path('state', file))).mode & 0o777).toBe(0o600);
    expect((await stat(node.path('state'))).mode & 0o777).toBe(0o700);
    await register();
    // It crashed before it had written down what it was told.
    for (const file of ['state/token', 'state/registered-with']) await node.write(file, '');
    await register();
    expect(await node.text('state/token')).toBe(token);
    expect(await kinds('agent.registered', name)).toHaveLength(1);
    expect(await kinds('agent.alarm', name)).toEqual([]);

    expect(await node.run('railhead-node', ['report', 'boot-complete'])).toMatchObject({ code: 0 });
    expect(await kinds('boot.stage', name)).toContainEqual(
      expect.objectContaining({ data: { stage: 'boot-complete' } }),
    );
  });

  it('a second machine with the same token is not registered, it is an alarm, and it asks no more', async () => {
    const { name, node } = await booted(shell);
    await node.run('railhead-node', ['register']);
    const { code, stderr } = await node.run('railhead-node', ['register'], {
      RAILHEAD_STATE: node.path('stranger'),
    });
    expect(code, stderr).toBe(77);
    expect(stderr).toContain('not registered yet: {');
    expect(stderr).toContain('not registered until the next one');
    expect(await kinds('agent.alarm', name)).toHaveLength(1);
    await expect(stat(node.path('stranger/token'))).rejects.toThrow('ENOENT');
  });

  it('a refusal that a person can lift is asked about again, but seldom', async () => {
    const { name, node, token } = await booted(shell);
    await node.write('etc/token', `${'x'.repeat(22)}\n`);
    const refused = node.start('railhead-node', ['register']);
    await until('it is turned away', () => refused.said().includes('asking again in 300 seconds'));
    expect(refused.said().match(/not registered yet/g)).toHaveLength(1);
    await refused.stop();
    expect(await kinds('agent.registered', name)).toEqual([]);
    await node.write('etc/token', `${token}\n`);
    expect(await node.run('railhead-node', ['register'])).toMatchObject({ code: 0 });
  });

  it('a host that is held waits; a release ends its boot, and it says so', async () => {
    const { name, node } = await booted(shell);
    expect(await fleet.appliance().cli('hold', name)).toMatchObject({ code: 0 });
    const waiting = node.start('railhead-node', ['register']);
    await until('it asks again', () => waiting.said().split('RH_HOST_HELD').length > 2);
    expect(waiting.said()).not.toContain('a person has to look');
    expect(await fleet.appliance().cli('release', name)).toMatchObject({ code: 0 });
    await until('it says so', () => waiting.said().includes('or to boot this machine anew'));
    await waiting.stop();
    expect(await kinds('agent.registered', name)).toEqual([]);
  });

  it('reports while the server restarts', async () => {
    const site = await newSite();
    await giveImage(site);
    const { data, inventory } = site;
    const appliance = await startAppliance({ data, inventory });
    const node = await TestNode.make(shell);
    await node.configure(appliance, await bootMachine(appliance, '52:54:00:12:34:01'));
    const { httpPort, httpsPort } = appliance.server;
    await appliance.kill();
    const report = node.start('railhead-node', ['report', 'ignition-done', 'after all']);
    await until('it has tried', () => report.said().includes('not reported yet'));
    const env = { RAILHEAD_HTTP_PORT: String(httpPort), RAILHEAD_HTTPS_PORT: String(httpsPort) };
    const again = await startAppliance({ data, inventory, env });
    expect(await report.ended).toMatchObject({ code: 0 });
    expect(await messages('n1', again)).toEqual(['after all']);
  });

  it('any message arrives as it was said, on one line and not too long', async () => {
    const long = 'x'.repeat(399);
    const said = [
      ['quotes " and \\ and \' and $(id) `id` %s \\n', 'quotes " and \\ and \' and $(id) `id` %s \\n'],
      ['two\nlines\tand \u001b[31mcolour\u007f\r', 'two lines and [31mcolour'],
      ['é ü 💾', 'é ü 💾'],
      [`${long}"`, `${long}"`],
      [`${long}\\more`, `${long}\\`],
      ['-n', '-n'],
      ['@/etc/passwd', '@/etc/passwd'],
    ] as const;
    for (const [message, arrives] of said) {
      const { name, node } = await booted(shell);
      const { code, stderr } = await node.run('railhead-node', ['report', 'failed', message]);
      expect(code, stderr).toBe(0);
      expect(await messages(name)).toEqual([arrives]);
    }
  });

  it('no process shows a token or the nonce in its arguments', async () => {
    const { node, token } = await booted(shell);
    const { httpsUrl } = fleet.appliance();
    // Looks at all arguments of all processes while a request is about to be made.
    await node.program(
      'curl',
      `cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n' >>${node.path('seen')}\nexec /usr/bin/curl "$@"`,
    );
    for (const args of [['register'], ['report', 'boot-complete', 'a message']]) {
      expect(await node.run('railhead-node', args)).toMatchObject({ code: 0 });
    }
    const seen = await node.text('seen');
    expect(seen).toContain(`${httpsUrl}/agent/v1/register`);
    expect(seen).toContain(`${httpsUrl}/agent/v1/stage`);
    const own = (await node.text('state/token')).trim();
    const nonce = (await node.text('state/nonce')).split('\n')[0]!;
    for (const secret of [token, own, nonce]) {
      expect(secret.length).toBeGreaterThan(20);
      expect(seen).not.toContain(secret);
    }
  });

  it('a server with another CA gets nothing', async () => {
    const { name, node } = await booted(shell);
    const { certificatePem } = await ensureAuthority(await tempFolder(), new Date());
    await node.write('etc/ca.pem', certificatePem);
    const report = node.start('railhead-node', ['report', 'boot-complete', 'hello']);
    await until('it turns away', () => report.said().includes('certificate'));
    await report.stop();
    expect(await messages(name)).toEqual([]);
  });

  it('says how it is used', async () => {
    const node = await TestNode.make(shell);
    await node.write('etc/node.env', '');
    expect(await node.run('railhead-node')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('usage:'),
    });
  });
});

it('the unit starts it again when it fails, but not when it is not to ask again', async () => {
  const { name } = fleet.next();
  const { systemd } = JSON.parse((await fleet.appliance().ask(`/ignition/${name}`)).body);
  const { contents } = systemd.units.find(
    (unit: { name: string }) => unit.name === 'railhead-register.service',
  );
  expect(contents).toContain('\nRestart=on-failure\n');
  expect(contents).toContain('\nRestartPreventExitStatus=77\n');
});
