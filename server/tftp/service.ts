import type { EventLog } from '../events/log.ts';
import type { InventoryIndex } from '../inventory/index.ts';
import { Damper } from './damper.ts';
import { Folder } from './folder.ts';
import { hostOf } from './host-of.ts';
import { loadNativeSender } from './native.ts';
import { DEFAULT_LIMITS } from './negotiate.ts';
import { bindTftpPort } from './port.ts';
import type { Resolver } from './resolve.ts';
import { type RefusedRequest, TftpServer, type TransferRecord } from './server.ts';
import { parsePortPolicy } from './sockets.ts';

export interface TftpOptions {
  bind: string;
  port: number;
  /** `any`, `single` or a range such as `50000-50999`. */
  ports: string;
  maxTransfers: number;
  maxPerClient: number;
  bootDir: string;
  /** A file went to a client as a whole. */
  onSent?: (address: string, file: string) => void;
  /** Files that are made on request; they come before those of the folder. */
  virtualFiles: readonly Resolver[];
  events: EventLog;
  inventory: () => InventoryIndex;
  nodeBinary: string;
  onFault: (error: unknown) => void;
}

/** A transfer that is under way, for people. */
export interface TransferStatus {
  name: string;
  host: string | null;
  file: string;
  bytes: number;
  size: number;
  seconds: number;
  retransmits: number;
}

/** TFTP as a part of the appliance: the port, the boot folder, and every transfer as an event. */
export class TftpService {
  readonly #options: TftpOptions;
  readonly #damper = new Damper(() => performance.now());
  #server: TftpServer | undefined;
  #note: string | undefined;

  constructor(options: TftpOptions) {
    this.#options = options;
  }

  /** Returns the port it is on. */
  async start(): Promise<number> {
    const { bind, port, ports, nodeBinary, bootDir, virtualFiles, maxTransfers, maxPerClient } =
      this.#options;
    const bound = await bindTftpPort(bind, port, nodeBinary);
    this.#note = bound.note;
    this.#server = new TftpServer({
      socket: bound.socket,
      bind,
      ports: parsePortPolicy(ports),
      resolvers: [...virtualFiles, new Folder(bootDir).resolve],
      limits: DEFAULT_LIMITS,
      admission: { total: maxTransfers, perClient: maxPerClient },
      native: await loadNativeSender(),
      now: () => performance.now(),
      onTransferEnd: (record) => this.#recordTransfer(record),
      onRefused: (refused) => this.#recordRefusal(refused),
    });
    this.#server.start();
    return bound.port;
  }

  stop(): void {
    this.#server?.stop();
    this.#server = undefined;
  }

  /** Why it is not on the port that was asked for. */
  get note(): string | undefined {
    return this.#note;
  }

  get transfers(): TransferStatus[] {
    return (this.#server?.transfers ?? []).map(
      ({ client, address, file, bytes, size, milliseconds, retransmits }) => ({
        name: client,
        host: this.#hostOf(address, file) ?? null,
        file,
        bytes,
        size,
        seconds: milliseconds / 1000,
        retransmits,
      }),
    );
  }

  #recordTransfer({
    client,
    address,
    file,
    bytes,
    blocks,
    retransmits,
    milliseconds,
    options,
    ending,
  }: TransferRecord): void {
    const { result, reason } = ending!;
    if (result === 'done') this.#options.onSent?.(address, file);
    this.#append(address, file, {
      kind: 'tftp.transfer',
      data: {
        client,
        file,
        bytes,
        blocks,
        retransmits,
        seconds: Math.round(milliseconds) / 1000,
        options: { ...options },
        result,
        ...(reason === undefined ? {} : { reason }),
      },
    });
  }

  #recordRefusal({ client, address, file, code, reason }: RefusedRequest): void {
    const repeats = this.#damper.admit(address, `${file} ${code}`);
    if (repeats === undefined) return;
    this.#append(address, file, {
      kind: 'tftp.refused',
      data: { client, file, code, reason, ...(repeats === 0 ? {} : { repeats }) },
    });
  }

  #append(address: string, file: string, event: Parameters<EventLog['append']>[0]): void {
    const host = this.#hostOf(address, file);
    this.#options.events.append(host === undefined ? event : { ...event, host }).catch(this.#options.onFault);
  }

  #hostOf(address: string, file: string): string | undefined {
    return hostOf(this.#options.inventory(), address, file);
  }
}
