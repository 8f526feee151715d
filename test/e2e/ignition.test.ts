import { describe, expect } from 'vitest';
import { edit } from '../support/appliance.ts';
import {
  expectProvisioned,
  filesOn,
  INSTALLER_STAGES,
  md5,
  ofKind,
  STAGES_FROM_POINTER,
  stagesOf,
} from '../support/boot-facts.ts';
import { FROM_DISK, labTest } from '../support/lab.ts';
import { findLabTools } from '../support/lab-tools.ts';

const tools = await findLabTools();

const IN_2021 = '52:54:00:12:34:41';
const DECEIVED = '52:54:00:12:34:43';
const NEIGHBOUR = '52:54:00:12:34:44';
const EDITED = '52:54:00:12:34:45';
const ON_DISK = '52:54:00:12:34:46';

const KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAINyKdRNTR9pB4W8OVL0MTtLwVlXtQhIFDaLztNf7OyBU before';

describe.skipIf(tools === undefined)('a machine is configured by Ignition', () => {
  const test = labTest({
    tools,
    hosts: `
  - { name: in-2021, pool: ram, macs: ['${IN_2021}'] }
  - { name: deceived, pool: ram, macs: ['${DECEIVED}'] }
  - { name: neighbour, pool: ram, macs: ['${NEIGHBOUR}'] }
  - { name: edited, pool: ram, macs: ['${EDITED}'], sshKeys: ['${KEY}'] }
  - { name: on-disk, pool: disk, disk: /dev/vda, macs: ['${ON_DISK}'] }
`,
  });

  test.concurrent('with UEFI, and a clock that says 2021: over TLS, and to the end', async ({ boot }) => {
    const booted = await boot({ firmware: 'uefi', mac: IN_2021, date: '2021-01-01' });
    expect(booted.serial).toContain('GUEST: date 2021-01-0');
    expectProvisioned(booted, 'in-2021');
  });

  test.concurrent('on disk: with a token for its first boot from there, from any address, and no longer', async ({
    lab,
    boot,
  }) => {
    const spec = { firmware: 'bios', mac: ON_DISK, disk: lab.newDisk() } as const;
    const installer = await boot(spec);
    expect(stagesOf(installer)).toEqual(INSTALLER_STAGES.map((stage) => `on-disk ${stage}`));
    expect(installer.serial).toMatch(
      /^GUEST: flatcar-install -d \/dev\/vda -b http:\/\/10\.55\.0\.1:8080\/assets\/flatcar\/stable\/amd64-usr -V 4593\.2\.5 /m,
    );
    expect(installer.serial).toContain('GUEST: systemctl reboot');
    expect(ofKind(installer, 'agent.registered', 'on-disk'), 'an installer is not the host').toEqual([]);

    const { serial, events, end } = await boot({ ...spec, kernelLine: FROM_DISK, guest: 'guest.again=yes' });
    expect(end).toBe('off');
    expect(serial).not.toContain('ignition.config.url');
    expect(serial).toContain('GUEST: DONE');
    const own = events.filter(({ host }) => host === 'on-disk');
    const [registered] = own.filter((event) => event.kind === 'agent.registered');
    expect(installer.addresses).not.toContain(registered!.data.address);
    expect(own.map(({ kind, data }) => ('stage' in data ? data.stage : kind))).toEqual([
      'config-sent',
      'agent.registered',
      'ignition-done',
      'boot-complete',
      'provisioned',
    ]);
    // Once it is provisioned, what lies on its disk opens nothing any more.
    expect(serial).toContain('GUEST: no configuration once more');
    expect(events).toContainEqual(
      expect.objectContaining({
        kind: 'boot.token-refused',
        data: {
          what: 'configuration',
          reason: 'the token belongs to no boot that is under way',
          address: registered!.data.address,
        },
      }),
    );
  });

  test.concurrent('not with what somebody on the way has changed, nor with a token that is not its own', async ({
    lab,
    boot,
  }) => {
    const { token, kernelLine } = await lab.openBoot(DECEIVED);
    const { token: ofNeighbour } = await lab.openBoot(NEIGHBOUR);
    const deceptions: ((pointer: string) => string)[] = [
      (pointer) => pointer.replace(/sha512-(.)/, (_, digit) => `sha512-${digit === '0' ? '1' : '0'}`),
      (pointer) => pointer.replaceAll(token, 'x'.repeat(22)),
      (pointer) => pointer.replaceAll(token, ofNeighbour),
    ];
    const left = [...deceptions];
    const tampered = await lab.interpose(kernelLine, (answer, path) =>
      path.endsWith('/pointer.ign') ? left.shift()!(answer) : answer,
    );
    const booted = await boot({
      firmware: 'bios',
      mac: DECEIVED,
      kernelLine: tampered,
      guest: `guest.tries=${deceptions.length}`,
    });
    expect(left).toEqual([]);
    expect(booted.serial.match(/GUEST: FAILED: ignition fetch/g)).toHaveLength(deceptions.length);
    // The first time it got its configuration, and found that it was not what the pointer had promised.
    expect(booted.serial).toContain('hash verification failed');
    expect(stagesOf(booted)).toEqual(['deceived pointer-sent', 'deceived config-sent']);
    // Its kernel went to the test.
    expect(ofKind(booted, 'boot.address-changed', 'deceived')).toHaveLength(1);
    const address = booted.addresses.at(-1);
    const refused = ofKind(booted, 'boot.token-refused').filter(({ data }) => data.address === address);
    expect(refused.map(({ host, data }) => ({ host, ...data }))).toEqual([
      { what: 'configuration', reason: 'the token belongs to no boot that is under way', address },
      {
        host: 'neighbour',
        what: 'configuration',
        reason: `${address} is on the card ${DECEIVED}, which is not one of neighbour's`,
        address,
      },
    ]);
  });

  test('with the very bytes that its pointer promised, whatever happens before it asks for them', async ({
    lab,
    boot,
  }) => {
    const { kernelLine } = await lab.openBoot(EDITED);
    const interrupted = await lab.interpose(kernelLine, async (answer, path) => {
      if (path.endsWith('/pointer.ign')) {
        await lab.appliance.kill();
        await edit(
          lab.appliance.site,
          (text) => text.replace(KEY, KEY.replace('before', 'after')),
          'lab.yaml',
        );
        await lab.startServer();
      }
      return answer;
    });
    const booted = await boot({ firmware: 'bios', mac: EDITED, kernelLine: interrupted });
    expect(stagesOf(booted)).toEqual(STAGES_FROM_POINTER.map((stage) => `edited ${stage}`));
    expect(ofKind(booted, 'server.started')).toHaveLength(1);
    expect(filesOn(booted)['/home/core/.ssh/authorized_keys.d/ignition']).toEqual({
      mode: '600',
      md5: md5(`${KEY}\n`),
    });
    expect(await lab.get('/ignition/edited'), 'the next boot gets another one').toContain(' after"');
  });
});
