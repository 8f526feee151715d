import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Event } from '../../server/events/kinds.ts';
import { ROOT } from './appliance.ts';
import type { Boot } from './lab.ts';

/** What a host gets through when all goes well, in order. */
export const ALL_STAGES = [
  'kernel-sent',
  'initrd-sent',
  'pointer-sent',
  'config-sent',
  'kernel',
  'initramfs',
  'ignition-done',
  'boot-complete',
  'provisioned',
];

/** The same for an installer. */
export const INSTALLER_STAGES = [...ALL_STAGES.slice(0, ALL_STAGES.indexOf('boot-complete')), 'installed'];

/** What it downloaded by TFTP to the end, in order. */
export function filesOf({ events, addresses }: Boot): string[] {
  return events.flatMap(({ kind, data }) => {
    if (kind !== 'tftp.transfer' || data.result !== 'done') return [];
    return addresses.includes(data.client.split(':')[0]!) ? [data.file] : [];
  });
}

/** The stages that the product saw this machine at, each with the host that it took it for. */
export function stagesOf({ events, attempt }: Boot): string[] {
  return stageEvents(events)
    .filter((event) => event.attempt === attempt)
    .map(({ host, data }) => `${host} ${data.stage}`);
}

/** How much of each file of the image it got, as the product counted it. */
export function bytesOf({ events, attempt }: Boot): { kernel: unknown; initrd: unknown } {
  const ofStage = (stage: string): unknown => {
    const { data } =
      stageEvents(events).find((event) => event.attempt === attempt && event.data.stage === stage) ?? {};
    return data && { bytes: data.bytes, of: data.of };
  };
  return { kernel: ofStage('kernel-sent'), initrd: ofStage('initrd-sent') };
}

export function stageEvents(events: readonly Event[]) {
  return events.filter((event) => event.kind === 'boot.stage');
}

/** What a host gets through whose kernel and initrd were there already (`kernelLine`). */
export const STAGES_FROM_POINTER = ALL_STAGES.slice(ALL_STAGES.indexOf('pointer-sent'));

/** All the way, as this host: with its files, registered, and everything said. */
export function expectProvisioned(boot: Boot, host: string, stages: readonly string[] = ALL_STAGES): void {
  expect(boot.end).toBe('off');
  expect(stagesOf(boot)).toEqual(stages.map((stage) => `${host} ${stage}`));
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

/** Of all machines that were on, or of this host. */
export function ofKind<K extends Event['kind']>({ events }: Boot, kind: K, host?: string) {
  return events.filter(
    (event): event is Extract<Event, { kind: K }> =>
      event.kind === kind && (host === undefined || event.host === host),
  );
}

/** What Ignition wrote, as the guest tells. */
export function filesOn({ serial }: Boot): Record<string, { mode: string; md5: string }> {
  return Object.fromEntries(
    [...serial.matchAll(/^GUEST: file (\d+) (\w{32}) (\S+)$/gm)].map(([, mode = '', md5 = '', path = '']) => [
      path,
      { mode, md5 },
    ]),
  );
}

export function machineIdOf({ serial }: Boot): string {
  return /systemd\.machine_id=(\w{32})/.exec(serial)![1]!;
}

export function tokenOf({ serial }: Boot): string {
  return /\/boot\/([\w-]{22})\/pointer\.ign/.exec(serial)![1]!;
}

export function md5(content: string | Buffer): string {
  return createHash('md5').update(content).digest('hex');
}
