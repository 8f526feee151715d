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
