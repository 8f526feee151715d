import { readFile, stat } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import type { Event } from '../../server/events/kinds.ts';
import { newSite, startAppliance } from '../support/appliance.ts';
import { bootMachine, giveImage, sharedFleet } from '../support/booting.ts';
import { until } from '../support/poll.ts';
import { giveDisks } from './disks.ts';
import { realProgram, type Shell, shells, TestNode } from './node.ts';

const SHELLS = await shells();
const LABELS = 'EFI-SYSTEM\nBIOS-BOOT\nUSR-A\nUSR-B\n\nOEM\nOEM-CONFIG\nROOT\n';
const DISK_PROFILE = `
profiles: [{name: flatcar, os: flatcar, version: 4593.2.5, install: disk}]
pools: [{name: fleet, profile: flatcar}]
`;

const fleet = sharedFleet(
  (hosts) => `${DISK_PROFILE}${hosts.replaceAll("']}", '\'], disk: {serial: "it\'s S1"}}')}`,
);

const stagesOf = async (host: string, appliance = fleet.appliance()): Promise<string[]> =>
  (await appliance.events(`limit=1000&host=${host}`)).flatMap((event: Event) =>
    event.kind === 'boot.stage' ? [event.data.stage] : [],
  );

const failureOf = async (host: string): Promise<string | undefined> =>
  (await fleet.appliance().events(`limit=1000&host=${host}`)).flatMap((event) =>
    event.kind === 'boot.stage' && event.data.stage === 'failed' ? [event.data.message] : [],
  )[0];

/** A machine that runs the installer; its programs write down what they are asked for. */
async function installer(shell: Shell, appliance = fleet.appliance(), { name, mac } = fleet.next()) {
  const token = await bootMachine(appliance, mac);
  const node = await TestNode.make(shell);
  await node.configure(appliance, token);
  await giveDisks(node, [
    { NAME: 'sda', SERIAL: "it's S1", PARTLABEL: LABELS },
    { NAME: 'sdb', SERIAL: 'S2' },
  ]);
  const stub = node.path('run/first-boot.ign');
  await node.program(
    'flatcar-install',
    `printf '%s\\0' "$@" >'${node.path('argv')}'; stat -c %a '${stub}' >'${node.path('stub-mode')}'; cp '${stub}' '${node.path('stub')}'`,
  );
  await node.program('udevadm', 'exit 0');
  // What the server knows at the moment of the restart.
  await node.program(
    'systemctl',
    `echo "$@" >>'${node.path('systemctl')}'; '${realProgram('curl')}' -s '${appliance.url}/api/v1/events?limit=1000&host=${name}' >'${node.path('known')}'`,
  );
  return { node, name, token };
}

const rebooted = (node: TestNode): Promise<boolean> =>
  stat(node.path('systemctl')).then(
    () => true,
    () => false,
  );

describe.each(SHELLS)('railhead-install in $name', (shell) => {
  it('installs to the one disk that is meant, says so, and only then restarts', async () => {
    const { node, name, token } = await installer(shell);
    const { code, stderr } = await node.run('railhead-install');
    expect(code, stderr).toBe(0);
    const { url } = fleet.appliance();
    expect((await node.text('argv')).split('\0')).toEqual([
      ...['-d', '/dev/sda'],
      ...['-b', `${url}/assets/flatcar/stable/amd64-usr`],
      ...['-V', '4593.2.5'],
      ...['-B', 'amd64-usr'],
      ...['-o', ''],
      ...['-i', node.path('run/first-boot.ign')],
      '',
    ]);
    expect(await node.text('stub-mode')).toBe('600\n');
    const { ignition } = JSON.parse(await node.text('stub'));
    const firstBoot = /\/boot\/([\w-]{22})\/config\.ign$/.exec(ignition.config.replace.source)?.[1];
    expect(firstBoot).not.toBe(token);
    expect(ignition.config.replace).not.toHaveProperty('verification');
    await expect(stat(node.path('run/first-boot.ign'))).rejects.toThrow('ENOENT');

    expect(await node.text('systemctl')).toBe('reboot\n');
    expect(await node.text('known')).toContain('"installed"');
    expect(await stagesOf(name)).toContain('installed');
  });

  it('verifies with the key that the server has, if it was given one', async () => {
    const { node } = await installer(shell);
    await node.write('etc/images.asc', 'a key');
    const { code, stderr } = await node.run('railhead-install');
    expect(code, stderr).toBe(0);
    expect((await node.text('argv')).split('\0').slice(-3)).toEqual(['-k', node.path('etc/images.asc'), '']);
  });

  it.each([
    [
      'flatcar-install fails',
      'flatcar-install',
      // In the end the real one tells how it wipes the disk.
      "echo 'one line'; echo 'gpg: \"bad\" signature' >&2; for i in 1 2 3; do echo '/dev/sda: 8 bytes were erased'; done; exit 3",
      'flatcar-install failed: one line gpg: "bad" signature ',
    ],
    [
      'a partition is missing',
      'flatcar-install',
      'cd "$(dirname "$0")/../disks/sda"; echo ROOT >PARTLABEL',
      'after the installation /dev/sda has no partition EFI-SYSTEM',
    ],
    ['no disk fits', 'lsblk', 'exit 0', 'the selector fits no disk of: '],
    ['the disk can not be told', 'railhead-disk', 'echo "two disks" >&2; exit 1', 'two disks'],
    [
      'what nobody has foreseen',
      'udevadm',
      'rm -r "$(dirname "$0")/../bin/lsblk"; mkdir "$(dirname "$0")/lsblk"; PATH=/nowhere; exit 0',
      undefined,
    ],
  ])('%s: it is reported, and nothing restarts', async (_what, program, body, message) => {
    const { node, name } = await installer(shell);
    await node.program(program, body);
    const { code } = await node.run('railhead-install');
    expect(code).not.toBe(0);
    expect(await failureOf(name)).toEqual(message ?? expect.any(String));
    expect(await stagesOf(name)).not.toContain('installed');
    expect(await rebooted(node)).toBe(false);
  });

  it('as long as the server does not know, it does not restart', async () => {
    const site = await newSite();
    await giveImage(site);
    const host =
      "hosts: [{name: n1, pool: fleet, macs: ['52:54:00:12:34:01'], disk: {serial: \"it's S1\"}}]\n";
    const { data, inventory } = site;
    const { writeFile } = await import('node:fs/promises');
    await writeFile(`${inventory}/example.yaml`, `${DISK_PROFILE}${host}`);
    const appliance = await startAppliance({ data, inventory });
    const { node } = await installer(shell, appliance, { name: 'n1', mac: '52:54:00:12:34:01' });
    await node.program(
      'udevadm',
      `touch '${node.path('written')}'; until [ -e '${node.path('go')}' ]; do sleep 0.1; done`,
    );
    const running = node.start('railhead-install');
    await until('the disk is written', async () => (await stat(node.path('written'))).isFile());
    const { httpPort, httpsPort } = appliance.server;
    await appliance.kill();
    await node.write('go', '');
    await until('it has tried to say so', () => running.said().includes('not reported yet'));
    expect(await rebooted(node)).toBe(false);
    const env = { RAILHEAD_HTTP_PORT: String(httpPort), RAILHEAD_HTTPS_PORT: String(httpsPort) };
    const again = await startAppliance({ data, inventory, env });
    expect(await running.ended).toMatchObject({ code: 0 });
    expect(await readFile(node.path('known'), 'utf8')).toContain('"installed"');
    expect(await stagesOf('n1', again)).toContain('installed');
  });
});
