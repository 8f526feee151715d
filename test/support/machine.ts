import { type ChildProcess, spawn } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import type { LabTools } from './lab-tools.ts';

/** A virtual machine as it stands in the rack. */
export interface MachineSpec {
  firmware: 'bios' | 'uefi';
  /** Of the network card that it boots from. */
  mac: string;
  /** Of all its cards in the order of their slots, when it has more than one. */
  cards?: readonly string[];
  uuid?: string;
  /** The firmware's own HTTP Boot in place of PXE. */
  httpBoot?: boolean;
  memoryMB?: number;
  /** What its clock says when it is switched on: `2021-01-01`. */
  date?: string;
  /** A file that stays when it is switched off; made when it is not there. Only for BIOS. */
  disk?: string;
  /** Boots the guest at once, with this command line, in place of what its firmware would. Only for BIOS. */
  kernelLine?: string;
  /** What its guest is to do besides; see guest-init.sh. */
  guest?: string;
  /** How long it may take, and be silent: boot loaders say nothing during a large download. */
  patienceSeconds?: number;
}

export interface MachinePlace {
  tools: LabTools;
  /** Starts a program in the machine's network. */
  through: readonly string[];
  /** One for each card. */
  taps: readonly string[];
  /** For its disk, its firmware's variables and its log. */
  dir: string;
}

/** How it ended. */
export type MachineEnd =
  /** It was switched off, or wanted to reboot. */
  | 'off'
  /** It booted from its own disk, which does nothing but say so and end. */
  | 'disk';

export const SAYS_DISK = 'BOOTED FROM DISK';
const LIMIT_SECONDS = 400;
/** No part of a boot is silent for that long, even on a busy machine. */
const SILENCE_SECONDS = 120;

export function cardsOf({ mac, cards = [mac] }: MachineSpec): readonly string[] {
  return cards;
}

/** One power-on of a machine in QEMU, until it is off. */
export class Machine {
  readonly #child: ChildProcess;
  readonly #log: string;
  readonly #ended: Promise<MachineEnd>;
  #complaints = '';

  constructor(spec: MachineSpec, place: MachinePlace) {
    const { tools, through, dir } = place;
    this.#log = join(dir, 'serial.log');
    writeFileSync(this.#log, '');
    const env = Object.entries(tools.qemu.env).map(([name, value]) => `${name}=${value}`);
    const command = [...through, 'env', ...env, tools.qemu.path, ...qemuArguments(spec, place, this.#log)];
    const [program = '', ...args] = command;
    this.#child = spawn(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    this.#child.stderr?.on('data', (chunk) => {
      this.#complaints += chunk;
    });
    this.#ended = new Promise((resolve, reject) => {
      const started = performance.now();
      const { patienceSeconds: limit = LIMIT_SECONDS, patienceSeconds: silence = SILENCE_SECONDS } = spec;
      let heard = { at: started, size: 0 };
      const watch = setInterval(() => {
        const now = performance.now();
        const { size } = statSync(this.#log);
        if (size !== heard.size) heard = { at: now, size };
        const isLate = now - started > limit * 1000;
        if (!isLate && now - heard.at < silence * 1000) return;
        reject(new Error(isLate ? `not off after ${limit} s` : `nothing new for ${silence} s`));
        this.#child.kill('SIGKILL');
      }, 1000);
      this.#child.once('error', reject);
      this.#child.once('exit', (code, signal) => {
        clearInterval(watch);
        const { serial } = this;
        if (serial.includes('Kernel panic')) reject(new Error('its kernel gave up'));
        else if (code === 0 || code === DISK_EXIT) resolve(serial.includes(SAYS_DISK) ? 'disk' : 'off');
        else reject(new Error(`QEMU ended with ${signal ?? code}: ${this.#complaints}`));
      });
    });
    this.#ended.catch(() => {});
  }

  /** Resolves when it is off; fails when that takes too long. */
  ended(): Promise<MachineEnd> {
    return this.#ended;
  }

  /** What is on its screen and its serial line. */
  get serial(): string {
    return stripVTControlCharacters(readFileSync(this.#log, 'latin1')).replaceAll(/\r/g, '');
  }

  /** Pulls the plug. */
  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended.catch(() => {});
  }
}

function qemuArguments(spec: MachineSpec, { tools, taps, dir }: MachinePlace, log: string): string[] {
  const { firmware, mac, uuid, httpBoot = false, memoryMB = 1024, date, kernelLine, guest } = spec;
  const { kernel, initrd } = tools.guest;
  const disk = firmware === 'uefi' ? efiDisk(tools, dir) : biosDisk(spec.disk ?? join(dir, 'disk.img'));
  const pflash = (file: string, readonly: boolean): string[] => [
    '-drive',
    `if=pflash,format=raw,file=${file}${readonly ? ',readonly=on' : ''}`,
  ];
  const variables = join(dir, 'vars.fd');
  if (firmware === 'uefi') copyFileSync(join(dirname(tools.ovmf.path), 'OVMF_VARS_4M.fd'), variables);
  return [
    // KVM may be there and hang. Without graphics the BIOS writes its screen to the serial line.
    ...['-M', 'q35,accel=tcg,graphics=off', '-m', String(memoryMB), '-no-reboot'],
    ...['-display', 'none', '-monitor', 'none', '-serial', `file:${log}`],
    ...(uuid === undefined ? [] : ['-uuid', uuid]),
    ...(date === undefined ? [] : ['-rtc', `base=${date}`]),
    ...(guest === undefined ? [] : ['-smbios', `type=3,asset=${guest}`]),
    ...(kernelLine === undefined ? [] : ['-kernel', kernel, '-initrd', initrd, '-append', kernelLine]),
    // UEFI without a ROM on the card: the firmware's own PXE is meant, not iPXE.
    ...(firmware === 'uefi' ? [...pflash(tools.ovmf.path, true), ...pflash(variables, false)] : []),
    // What is tried in vain takes minutes.
    ...(httpBoot ? ['4', '6'] : ['6']).flatMap((version) => [
      '-fw_cfg',
      `name=opt/org.tianocore/IPv${version}PXESupport,string=n`,
    ]),
    ...cardsOf(spec).flatMap((card, index) => [
      ...['-netdev', `tap,id=n${index},ifname=${taps[index]},script=no,downscript=no`],
      '-device',
      `virtio-net-pci,netdev=n${index},mac=${card}${card === mac ? ',bootindex=1' : ''}${firmware === 'uefi' ? ',romfile=' : ''}`,
    ]),
    ...['-drive', `if=none,id=d0,format=raw,file=${disk}`],
    ...['-device', 'virtio-blk-pci,drive=d0,bootindex=2'],
    ...['-device', `isa-debug-exit,iobase=${DEBUG_EXIT_PORT},iosize=4`],
  ];
}

const DEBUG_EXIT_PORT = 0xf4;
const DISK_VALUE = 0x10;
/** What QEMU makes of the value that is written to the port. */
const DISK_EXIT = (DISK_VALUE << 1) | 1;

/** A disk for UEFI that says a line and ends the machine: iPXE with a script of its own. QEMU makes it of a folder. */
function efiDisk(tools: LabTools, dir: string): string {
  const folder = join(dir, 'disk');
  const place = join(folder, 'EFI', 'BOOT');
  mkdirSync(place, { recursive: true });
  copyFileSync(join(tools.bootDir, 'ipxe.efi'), join(place, 'BOOTX64.EFI'));
  // Beside it, and at the top: started by GRUB, it does not know its own folder.
  for (const where of [place, folder]) {
    writeFileSync(join(where, 'autoexec.ipxe'), `#!ipxe\necho ${SAYS_DISK}\npoweroff\n`);
  }
  return `fat:rw:${folder}`;
}

/** A disk for BIOS whose boot sector writes a line to the serial port and ends the machine. */
function biosDisk(file: string): string {
  if (existsSync(file)) return file;
  // biome-ignore format: one instruction a line
  const code = [
    0xfa,                             //       cli
    0xfc,                             //       cld
    0x31, 0xc0,                       //       xor ax, ax
    0x8e, 0xd8,                       //       mov ds, ax
    0xbe, 0x1d, 0x7c,                 //       mov si, text
    0xba, 0xf8, 0x03,                 //       mov dx, 0x3f8
    0xac,                             // next: lodsb
    0x84, 0xc0,                       //       test al, al
    0x74, 0x03,                       //       jz end
    0xee,                             //       out dx, al
    0xeb, 0xf8,                       //       jmp next
    0xba, DEBUG_EXIT_PORT, 0x00,      // end:  mov dx, port
    0xb0, DISK_VALUE,                 //       mov al, value
    0xee,                             //       out dx, al
    0xf4,                             // halt: hlt
    0xeb, 0xfd,                       //       jmp halt
  ];
  const disk = Buffer.alloc(1024 * 1024);
  disk.set(code);
  disk.write(`\n${SAYS_DISK}\n\0`, code.length, 'latin1');
  disk.writeUInt16LE(0xaa55, 510);
  writeFileSync(file, disk);
  return file;
}
