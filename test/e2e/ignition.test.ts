import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect } from 'vitest';
import { idOf } from '../../server/boot/attempts.ts';
import { AGENT_ALIVE_MS } from '../../server/boot/decide.ts';
import type { Event } from '../../server/events/kinds.ts';
import { edit, ROOT } from '../support/appliance.ts';
import {
  ALL_STAGES,
  type Boot,
  FROM_DISK,
  INSTALLER_STAGES,
  type Lab,
  labTest,
  stagesOf,
} from '../support/lab.ts';
import { findLabTools } from '../support/lab-tools.ts';
import { until } from '../support/poll.ts';

const tools = await findLabTools();

const IN_2021 = '52:54:00:12:34:41';
const TWICE = '52:54:00:12:34:42';
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
  - { name: twice, pool: ram, macs: ['${TWICE}'] }
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

  test.concurrent('with BIOS, and again when it boots again; but of two machines with its MAC only one is the host', async ({
    lab,
    boot,
  }) => {
    const spec = { firmware: 'bios', mac: TWICE } as const;
    const first = await boot(spec);
    expectProvisioned(first, 'twice');

    // Whoever comes with the MAC of a host that lives: the host itself after a restart, or a stranger.
    const second = await boot(spec, () => speakUntilWaiting(lab, 'twice'));
    expect(ofKind(second, 'boot.waiting', 'twice')[0]?.data.reason).toMatch(/^its agent was heard of/);
    expect(second.serial).toMatch(/Railhead: twice: its agent was heard of/);
    expectProvisioned(second, 'twice');
    expect(machineIdOf(second)).toBe(machineIdOf(first));
    expect(ofKind(second, 'boot.attempt-closed', 'twice')).toMatchObject([
      { attempt: first.attempt, data: { outcome: 'done' } },
    ]);
    await expect(lab.get(pointerOf(first)), 'what the first one had is worth nothing').rejects.toThrow('404');

    // A stranger that has seen the token pass, and has the host's MAC: all but the nonce.
    const kernelLine = /^GUEST: cmdline (.*)$/m.exec(second.serial)![1]!;
    const stranger = await boot({ ...spec, kernelLine, guest: 'guest.patience=8' });
    expect(stranger.serial).toContain('not registered yet: {');
    expect(stranger.serial).toContain('GUEST: FAILED: /opt/railhead/bin/railhead-node register');
    expect(ofKind(stranger, 'agent.registered', 'twice')).toEqual([]);
    expect(ofKind(stranger, 'agent.alarm')).toMatchObject([{ host: 'twice', attempt: second.attempt }]);
    expect(JSON.parse(await lab.get('/api/v1/hosts/twice'))).toMatchObject({ state: 'quarantined' });

    // Not even the real one gets anything, until a person has looked.
    const held = await boot(spec);
    expect(held.end).toBe('disk');
    expect(held.serial).toContain('Railhead: twice: two machines have registered');
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

  test.concurrent('not with what somebody on the way has changed, nor with a token that is not its own or too old', async ({
    lab,
    boot,
  }) => {
    const { token, kernelLine } = await lab.openBoot(DECEIVED);
    const { token: ofNeighbour } = await lab.openBoot(NEIGHBOUR);
    const deceptions: ((pointer: string) => string)[] = [
      (pointer) => pointer.replace(/sha512-(.)/, (_, digit) => `sha512-${digit === '0' ? '1' : '0'}`),
      (pointer) => pointer.replaceAll(token, 'x'.repeat(22)),
      (pointer) => pointer.replaceAll(token, ofNeighbour),
      (pointer) => {
        // Two hours pass.
        const age = 'update attempts set stage_at = stage_at - 7200000 where token = ?';
        expect(lab.database((db) => db.prepare(age).run(idOf(token)))).toMatchObject({ changes: 1 });
        return pointer;
      },
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
      {
        host: 'deceived',
        what: 'configuration',
        reason: 'the token has expired: nothing was heard for 120 minutes',
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
    const stages = ALL_STAGES.slice(ALL_STAGES.indexOf('pointer-sent'));
    expect(stagesOf(booted)).toEqual(stages.map((stage) => `edited ${stage}`));
    expect(ofKind(booted, 'server.started')).toHaveLength(1);
    expect(filesOn(booted)['/home/core/.ssh/authorized_keys.d/ignition']).toEqual({
      mode: '600',
      md5: md5(`${KEY}\n`),
    });
    expect(await lab.get('/ignition/edited'), 'the next boot gets another one').toContain(' after"');
  });
});

/** All the way, as this host: with its files, registered, and everything said. */
function expectProvisioned(boot: Boot, host: string): void {
  expect(boot.end).toBe('off');
  expect(stagesOf(boot)).toEqual(ALL_STAGES.map((stage) => `${host} ${stage}`));
  expect(filesOn(boot)).toMatchObject({
    '/etc/hostname': { mode: '644', md5: md5(`${host}\n`) },
    '/etc/railhead/node.env': {
      mode: '644',
      md5: md5(`RAILHEAD_URL=https://10.55.0.1:8443\nRAILHEAD_HOST=${host}\n`),
    },
    '/etc/railhead/token': { mode: '600', md5: md5(`${tokenOf(boot)}\n`) },
    '/opt/railhead/bin/railhead-node': {
      mode: '755',
      md5: md5(readFileSync(join(ROOT, 'templates/ignition/files/railhead-node'))),
    },
  });
  expect(ofKind(boot, 'agent.registered', host)).toMatchObject([
    { attempt: boot.attempt, data: { address: expect.toBeOneOf(boot.addresses) } },
  ]);
}

/** In place of the host's agent, as if it ran until another machine with its MAC is told to wait, and no longer. */
async function speakUntilWaiting(lab: Lab, host: string): Promise<void> {
  const heard = 'update agents set last_seen = ? where host = ? and revoked_at is null';
  const isToldToWait = async (): Promise<boolean> => {
    lab.database((db) => db.prepare(heard).run(Date.now(), host));
    await sleep(500);
    return (await lab.events()).some((event) => event.kind === 'boot.waiting' && event.host === host);
  };
  await until(`${host} is told to wait`, isToldToWait, 90_000);
  lab.database((db) => db.prepare(heard).run(Date.now() - AGENT_ALIVE_MS, host));
}

/** Of all machines that were on, or of this host. */
function ofKind<K extends Event['kind']>({ events }: Boot, kind: K, host?: string) {
  return events.filter(
    (event): event is Extract<Event, { kind: K }> =>
      event.kind === kind && (host === undefined || event.host === host),
  );
}

/** What Ignition wrote, as the guest tells. */
function filesOn({ serial }: Boot): Record<string, { mode: string; md5: string }> {
  return Object.fromEntries(
    [...serial.matchAll(/^GUEST: file (\d+) (\w{32}) (\S+)$/gm)].map(([, mode = '', md5 = '', path = '']) => [
      path,
      { mode, md5 },
    ]),
  );
}

function machineIdOf({ serial }: Boot): string {
  return /systemd\.machine_id=(\w{32})/.exec(serial)![1]!;
}

function tokenOf({ serial }: Boot): string {
  return /\/boot\/([\w-]{22})\/pointer\.ign/.exec(serial)![1]!;
}

function pointerOf(boot: Boot): string {
  return `/boot/${tokenOf(boot)}/pointer.ign`;
}

function md5(content: string | Buffer): string {
  return createHash('md5').update(content).digest('hex');
}
