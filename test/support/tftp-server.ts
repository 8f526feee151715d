import { type ChildProcess, fork } from 'node:child_process';
import { createCipheriv } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { EventData, EventKind } from '../../server/events/kinds.ts';
import type { TftpOptions, TransferStatus } from '../../server/tftp/service.ts';
import { until } from './poll.ts';

export type TftpServerSettings = Pick<
  TftpOptions,
  'bind' | 'ports' | 'maxTransfers' | 'maxPerClient' | 'bootDir'
>;

export interface TftpServerStart extends Partial<Omit<TftpServerSettings, 'bootDir'>> {
  /** How many files and sockets its process may have open. */
  descriptors?: number;
}

export interface TftpServerStatus {
  transfers: TransferStatus[];
  /** Bytes of JavaScript objects, and of buffers. */
  heap: number;
  external: number;
  /** Bytes of memory of the whole process. */
  rss: number;
  /** That are open: those for TFTP, and a few to this process. */
  sockets: number;
}

/** Where a client finds a server, or a relay before it. */
export interface Address {
  address: string;
  port: number;
}

export type EndedTransfer = EventData<'tftp.transfer'>;
export type Refusal = EventData<'tftp.refused'>;

const PROCESS = join(dirname(fileURLToPath(import.meta.url)), 'tftp-server-process.ts');

/** The real TFTP service in a process of its own, with a boot folder of its own. */
export class TftpServerProcess implements Address {
  readonly folder: string;
  readonly address: string;
  readonly port: number;
  readonly pid: number;
  /** What it told, in order. */
  readonly transfers: EndedTransfer[] = [];
  readonly refusals: Refusal[] = [];
  /** Standard error: nothing, as long as all is well. */
  stderr = '';
  readonly #child: ChildProcess;
  readonly #asked = new Map<number, (status: OwnStatus) => void>();
  #nextId = 1;

  static async start({ descriptors, ...settings }: TftpServerStart = {}): Promise<TftpServerProcess> {
    const dir = await mkdtemp(join(tmpdir(), 'railhead-tftp-'));
    const all: TftpServerSettings = {
      bind: '127.0.0.1',
      ports: 'any',
      maxTransfers: 4000,
      maxPerClient: 600,
      ...settings,
      bootDir: join(dir, 'boot'),
    };
    await mkdir(all.bootDir);
    const limited = ['-c', `ulimit -n ${descriptors}; exec "$0" "$@"`, process.execPath];
    const child = fork(PROCESS, [JSON.stringify(all)], {
      ...(descriptors === undefined ? {} : { execPath: '/bin/sh' }),
      execArgv: [...(descriptors === undefined ? [] : limited), '--expose-gc'],
      stdio: ['ignore', 'inherit', 'pipe', 'ipc'],
    });
    const port = await new Promise<number>((resolve, reject) => {
      child.once('message', (message: { port: number }) => resolve(message.port));
      child.once('exit', (code) => reject(new Error(`the TFTP server ended with ${code}`)));
      child.stderr!.once('data', (text) => reject(new Error(`the TFTP server said: ${text}`)));
    });
    return new TftpServerProcess(child, all, port);
  }

  private constructor(child: ChildProcess, { bind, bootDir }: TftpServerSettings, port: number) {
    this.#child = child;
    this.folder = bootDir;
    this.address = bind;
    this.port = port;
    this.pid = child.pid!;
    child.stderr!.on('data', (chunk) => {
      this.stderr += chunk;
    });
    child.on('message', (message: Message) => {
      if ('event' in message) this.#keep(message.event);
      else this.#asked.get(message.id)?.(message.status);
    });
  }

  /** Puts a file into its boot folder and returns its content: bytes of which no two blocks are alike. */
  async addFile(name: string, content: number | string | Buffer): Promise<Buffer> {
    const bytes = typeof content === 'number' ? noise(content, name) : Buffer.from(content);
    const path = join(this.folder, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, bytes);
    return bytes;
  }

  /** Now, after a collection of garbage. */
  async status(): Promise<TftpServerStatus> {
    const status = await this.#ask();
    const folder = `/proc/${this.pid}/fd`;
    const links = await Promise.all(
      (await readdir(folder)).map((fd) => readlink(join(folder, fd)).catch(() => 'closed since')),
    );
    const sockets = links.filter((link) => link.startsWith('socket:')).length;
    return { ...status, rss: await this.#memory('VmRSS'), sockets };
  }

  /** The most bytes of memory that its process ever had. */
  mostMemory(): Promise<number> {
    return this.#memory('VmHWM');
  }

  async #memory(name: string): Promise<number> {
    const text = await readFile(`/proc/${this.pid}/status`, 'utf8');
    return Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]) * 1024;
  }

  #ask(): Promise<OwnStatus> {
    const id = this.#nextId++;
    return new Promise((resolve, reject) => {
      const ended = (): void => reject(new Error(`the TFTP server has ended: ${this.stderr}`));
      if (this.hasEnded) return ended();
      this.#child.once('exit', ended);
      this.#asked.set(id, (status) => {
        this.#child.off('exit', ended);
        this.#asked.delete(id);
        resolve(status);
      });
      this.#child.send(id);
    });
  }

  /** The transfer of this file that ended, or will. Give the client's port where several ask for one file. */
  ended(file: string, { port }: { port?: number } = {}) {
    return until(`a transfer of ${file} has ended`, () =>
      this.transfers.find(
        ({ file: name, client }) => name === file && (port === undefined || client.endsWith(`:${port}`)),
      ),
    );
  }

  refused(file: string): Promise<Refusal> {
    return until(`${file} was refused`, () => this.refusals.find((refusal) => refusal.file === file));
  }

  get hasEnded(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  async stop(): Promise<void> {
    if (!this.hasEnded) {
      const ended = new Promise((resolve) => this.#child.once('exit', resolve));
      this.#child.kill('SIGKILL');
      await ended;
    }
    await rm(dirname(this.folder), { recursive: true, force: true });
  }

  #keep({ kind, data }: { kind: EventKind; data: unknown }): void {
    if (kind === 'tftp.transfer') this.transfers.push(data as EndedTransfer);
    else if (kind === 'tftp.refused') this.refusals.push(data as Refusal);
  }
}

type OwnStatus = Omit<TftpServerStatus, 'rss' | 'sockets'>;
type Message = { event: { kind: EventKind; data: unknown } } | { id: number; status: OwnStatus };

/** Bytes that look random and are always the same for one name. */
export function noise(bytes: number, name = ''): Buffer {
  const key = Buffer.alloc(16);
  key.write(name.slice(-16), 'latin1');
  return createCipheriv('aes-128-ctr', key, Buffer.alloc(16)).update(Buffer.alloc(bytes));
}
