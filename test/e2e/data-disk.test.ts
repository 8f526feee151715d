import { truncate, writeFile } from 'node:fs/promises';
import { describe, expect } from 'vitest';
import {
  expectProvisioned,
  filesOn,
  machineIdOf,
  ofKind,
  STAGES_FROM_POINTER,
} from '../support/boot-facts.ts';
import { withDiskPrograms } from '../support/disk-guest.ts';
import { fallSilent } from '../support/host-agent.ts';
import { type Boot, type BootMachine, type Lab, labTest } from '../support/lab.ts';
import { findLabTools } from '../support/lab-tools.ts';

const plain = await findLabTools();
const tools = plain && (await withDiskPrograms(plain));

const KEEPER = '52:54:00:12:34:51';
const MEMBER = '52:54:00:12:34:52';

/** With their modes. */
const ON_DATA = [
  ['/var/lib/railhead-data', '755'],
  ['/etc/kubernetes', '700'],
  ['/var/lib/etcd', '700'],
  ['/var/lib/kubelet', '755'],
  ['/var/lib/containerd', '755'],
  ['/var/lib/cni', '755'],
  ['/var/lib/railhead', '700'],
];
const HOST_KEY = '/etc/ssh/ssh_host_ed25519_key';

describe.skipIf(tools === undefined)('a host that runs from RAM and has a disk', () => {
  const test = labTest({
    tools,
    hosts: `
  - { name: keeper, pool: ram, identity: kept, disk: /dev/vda, macs: ['${KEEPER}'] }
  - { name: member, pool: ram, identity: kept, disk: /dev/vda, macs: ['${MEMBER}'] }
`,
  });

  test.concurrent('keeps what has to outlive a boot; an ordered reinstallation empties it, once', async ({
    lab,
    boot,
  }) => {
    const keeper = new Rack(lab, boot, 'keeper', KEEPER);
    await keeper.newDisk();
    const first = await keeper.boot('guest.keeps=first');
    expectProvisioned(first, 'keeper', STAGES_FROM_POINTER);
    expect(first.serial).toContain('railhead: the data partition /dev/vda1 is empty');
    expect(mountsOf(first)).toEqual(
      ON_DATA.map(([path, mode]) => ({ device: '/dev/vda1', path, type: 'ext4', mode, word: '' })),
    );

    const second = await keeper.boot('guest.keeps=second');
    expectProvisioned(second, 'keeper', STAGES_FROM_POINTER);
    expect(second.serial).toContain('railhead: the data partition /dev/vda1 is kept');
    expect(wordsOf(second)).toEqual(ON_DATA.map(() => 'first'));
    expect(filesOn(second)[HOST_KEY]).toEqual({ mode: '600', md5: filesOn(first)[HOST_KEY]!.md5 });
    expect(machineIdOf(second)).toBe(machineIdOf(first));

    expect(await lab.cli('reinstall', 'keeper')).toMatchObject({ code: 0 });
    const emptied = await keeper.boot('guest.keeps=third');
    expectProvisioned(emptied, 'keeper', STAGES_FROM_POINTER);
    expect(emptied.serial).toContain('railhead: the data partition /dev/vda1 is empty');
    expect(wordsOf(emptied)).toEqual(ON_DATA.map(() => ''));
    expect(filesOn(emptied)[HOST_KEY]!.md5).not.toBe(filesOn(first)[HOST_KEY]!.md5);
    expect(machineIdOf(emptied)).toBe(machineIdOf(first));

    const last = await keeper.boot();
    expectProvisioned(last, 'keeper', STAGES_FROM_POINTER);
    expect(wordsOf(last)).toEqual(ON_DATA.map(() => 'third'));
  });

  test.concurrent('is a candidate when its disk comes back empty, until a reinstall is requested', async ({
    lab,
    boot,
  }) => {
    const member = new Rack(lab, boot, 'member', MEMBER);
    await member.newDisk();
    const joined = await member.boot('guest.report=kubeadm-done');
    expectProvisioned(joined, 'member', [...STAGES_FROM_POINTER, 'kubeadm-done']);

    await member.newDisk();
    const lost = await member.boot('guest.patience=8');
    expect(lost.serial).toContain('railhead: the data partition /dev/vda1 is empty');
    expect(lost.serial).toContain('railhead: this machine is a candidate');
    expect(lost.serial).toContain('GUEST: FAILED: /opt/railhead/bin/railhead-node register');
    expect(mountsOf(lost).map(({ path }) => path)).toEqual(['/var/lib/railhead-data']);
    expect(ofKind(lost, 'agent.registered', 'member')).toEqual([]);
    expect(ofKind(lost, 'agent.alarm', 'member')).toHaveLength(1);

    expect(await lab.cli('reinstall', 'member')).toMatchObject({ code: 0 });
    const again = await member.boot();
    expectProvisioned(again, 'member', STAGES_FROM_POINTER);
    expect(ofKind(again, 'agent.registered', 'member')).toMatchObject([{ data: { generation: 2 } }]);
  });
});

/** A place in the rack: a machine with one disk, which people can replace. */
class Rack {
  readonly #lab: Lab;
  readonly #boot: BootMachine;
  readonly #name: string;
  readonly #mac: string;
  #disk = '';

  constructor(lab: Lab, boot: BootMachine, name: string, mac: string) {
    this.#lab = lab;
    this.#boot = boot;
    this.#name = name;
    this.#mac = mac;
  }

  /** Blank. */
  async newDisk(): Promise<void> {
    this.#disk = this.#lab.newDisk();
    await writeFile(this.#disk, '');
    await truncate(this.#disk, 64 * 1024 * 1024);
  }

  /** Some time after it was last on. */
  async boot(guest?: string): Promise<Boot> {
    fallSilent(this.#lab, this.#name);
    const { kernelLine } = await this.#lab.openBoot(this.#mac);
    return this.#boot({
      firmware: 'bios',
      mac: this.#mac,
      disk: this.#disk,
      kernelLine,
      ...(guest === undefined ? {} : { guest }),
    });
  }
}

/** What was mounted from the disk, in the order of mounting, with the word that a boot before had left there. */
function mountsOf({ serial }: Boot) {
  return [...serial.matchAll(/^GUEST: mounted (\S+) (\S+) (\S+) (\d+) (\w*)$/gm)].map(
    ([, device, path, type, mode, word]) => ({ device, path, type, mode, word }),
  );
}

function wordsOf(boot: Boot) {
  return mountsOf(boot).map(({ word }) => word);
}
