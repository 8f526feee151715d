import type { RemoteInfo, Socket } from 'node:dgram';
import { isDeepStrictEqual } from 'node:util';
import { plainAddress } from '../net/plain-address.ts';
import { Admission, type AdmissionLimits } from './admission.ts';
import {
  ERROR_CODE,
  encodeError,
  OPCODE,
  type Options,
  type Packet,
  parsePacket,
  type Request,
} from './codec.ts';
import { judgeRequest } from './judge-request.ts';
import type { NativeSender } from './native.ts';
import { type Limits, negotiate } from './negotiate.ts';
import { MAX_NETASCII_BYTES, NetasciiCache } from './netascii.ts';
import { canBeAnswered, clientName, keyOf, type Peer, printable } from './peer.ts';
import { type Refusal, type Resolver, resolveFile } from './resolve.ts';
import { type PortPolicy, TransferSockets } from './sockets.ts';
import { type Ending, Transfer, type Wire } from './transfer.ts';
import { NativeWire, PlainWire, Scratch } from './wire.ts';

export interface TftpServerOptions {
  /** Bound already; the server reads from it and, in single-port mode, sends everything through it. */
  socket: Socket;
  bind: string;
  ports: PortPolicy;
  resolvers: readonly Resolver[];
  limits: Limits;
  admission: AdmissionLimits;
  /** Absent: a datagram at a time. */
  native?: NativeSender | undefined;
  now: () => number;
  onTransferEnd: (record: TransferRecord) => void;
  onRefused: (refused: RefusedRequest) => void;
}

/** A transfer, while it runs and when it has ended. */
export interface TransferRecord {
  client: string;
  address: string;
  file: string;
  size: number;
  bytes: number;
  blocks: number;
  retransmits: number;
  milliseconds: number;
  options: Options;
  ending?: Ending;
}

export interface RefusedRequest extends Refusal {
  client: string;
  address: string;
  file: string;
}

interface Active {
  key: string;
  request: Request;
  file: string;
  peer: Peer;
  startedAt: number;
  size: number;
  accepted: Options;
  transfer: Transfer | undefined;
  close: () => void;
}

/** How often timers are looked at: one for all transfers costs less than one for each packet. */
const TICK_MS = 10;
const REQUEST_BUFFER_BYTES = 4 * 1024 * 1024;
/** A client that was heard of this recently didn't restart: its repeated request is a late copy. */
const RESTART_SILENCE_MS = 1000;

/** Reads requests from one port and runs the transfers that they start. */
export class TftpServer {
  readonly #options: TftpServerOptions;
  readonly #sockets: TransferSockets | undefined;
  readonly #admission: Admission;
  readonly #active = new Map<string, Active>();
  readonly #scratch = new Scratch();
  readonly #netascii = new NetasciiCache();
  #ticker: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: TftpServerOptions) {
    this.#options = options;
    this.#sockets =
      options.ports.kind === 'single' ? undefined : new TransferSockets(options.bind, options.ports);
    this.#admission = new Admission(options.admission);
  }

  start(): void {
    const { socket } = this.#options;
    // Room for the requests of a whole rack that is switched on at once, as far as the system allows it.
    socket.setRecvBufferSize(REQUEST_BUFFER_BYTES);
    socket.on('message', (message, sender) => this.#onMessage(message, sender));
  }

  stop(): void {
    this.#stopped = true;
    clearInterval(this.#ticker);
    for (const { transfer } of this.#active.values()) transfer?.stop('stopped');
    this.#options.socket.close();
  }

  /** What is under way. */
  get transfers(): TransferRecord[] {
    return [...this.#active.values()]
      .filter(({ transfer }) => transfer !== undefined)
      .map((active) => this.#record(active));
  }

  #onMessage(message: Buffer, sender: RemoteInfo): void {
    if (!canBeAnswered(sender)) return;
    const opcode = message.length < 2 ? 0 : message.readUInt16BE(0);
    if (opcode === OPCODE.read || opcode === OPCODE.write) {
      this.#onRequest(parsePacket(message), sender);
    } else if (this.#sockets === undefined) {
      const active = this.#active.get(keyOf(sender));
      if (active?.transfer !== undefined) onReply(active.transfer, message);
      else this.#strange(this.#options.socket, message, sender);
    }
    // Anything else at the listening port is nobody's; an answer would only serve to reflect it.
  }

  #onRequest(packet: Packet | undefined, sender: RemoteInfo): void {
    if (this.#stopped) return;
    const judged = judgeRequest(packet);
    if ('refusal' in judged) return this.#refuse(sender, judged.file, judged.refusal);
    const { request, file } = judged;
    if (this.#isCopy(request, keyOf(sender))) return;
    void this.#begin(request, file, sender);
  }

  /** The same client asks again from the same port: a copy of a request that is being served, or a new start. */
  #isCopy(request: Request, key: string): boolean {
    const active = this.#active.get(key);
    if (active === undefined) return false;
    const { transfer } = active;
    if (transfer === undefined) return true; // its file is still being looked up
    const isSame = isSameRequest(active.request, request);
    if (isSame && !transfer.hasBegun) {
      transfer.onRepeatedRequest();
      return true;
    }
    if (isSame && transfer.silence < RESTART_SILENCE_MS) return true;
    transfer.stop('superseded');
    return false;
  }

  async #begin(request: Request, file: string, sender: RemoteInfo): Promise<void> {
    const peer = { address: sender.address, port: sender.port };
    const address = plainAddress(peer.address);
    const full = this.#admission.enter(address);
    if (full !== undefined) return this.#refuse(sender, file, { code: ERROR_CODE.undefined, reason: full });

    const key = keyOf(peer);
    const active: Active = {
      key,
      request,
      file,
      peer,
      startedAt: this.#options.now(),
      size: 0,
      accepted: {},
      transfer: undefined,
      close: () => {
        this.#active.delete(key);
        this.#admission.leave(address);
      },
    };
    this.#active.set(key, active);
    try {
      const refusal = await this.#serve(active);
      if (refusal === undefined) return;
      active.close();
      this.#refuse(sender, file, refusal);
    } catch (error) {
      active.close();
      this.#refuse(sender, file, { code: ERROR_CODE.undefined, reason: (error as Error).message });
    }
  }

  async #serve(active: Active): Promise<Refusal | undefined> {
    const { peer, request } = active;
    const resolution = await resolveFile(this.#options.resolvers, {
      name: active.file,
      address: plainAddress(peer.address),
    });
    if ('code' in resolution) return resolution;
    addClose(active, () => resolution.release?.());
    const isText = request.mode === 'netascii';
    if (isText && resolution.content.length > MAX_NETASCII_BYTES) {
      return {
        code: ERROR_CODE.illegalOperation,
        reason: `${active.file} is too large for netascii; use octet (binary)`,
      };
    }

    const socket = this.#sockets === undefined ? this.#options.socket : await this.#sockets.open();
    if (socket === undefined)
      return { code: ERROR_CODE.undefined, reason: 'every port for transfers is in use; try again' };
    if (this.#sockets !== undefined) addClose(active, () => socket.close());
    if (this.#stopped) {
      active.close();
      return undefined;
    }

    const content = isText ? this.#netascii.convert(resolution.content) : resolution.content;
    const { terms, accepted } = negotiate(request.options, content.length, this.#options.limits);
    active.size = content.length;
    active.accepted = accepted ?? {};
    const transfer = new Transfer({
      content,
      terms,
      accepted,
      wire: this.#wire(socket, peer),
      now: this.#options.now,
      onEnd: (ending) => {
        const record = this.#record(active);
        active.close();
        this.#options.onTransferEnd({ ...record, ending });
      },
    });
    active.transfer = transfer;
    if (this.#sockets !== undefined) {
      socket.on('message', (message, sender) => {
        if (sender.port === peer.port && sender.address === peer.address) onReply(transfer, message);
        else this.#strange(socket, message, sender);
      });
    }
    transfer.start();
    this.#tick();
    return undefined;
  }

  #wire(socket: Socket, peer: Peer): Wire {
    const { native } = this.#options;
    const plain = new PlainWire(socket, peer, this.#scratch);
    const route = native?.route(socket, peer);
    return native === undefined || route === undefined ? plain : new NativeWire(native, route, plain);
  }

  #record({ peer, file, size, startedAt, accepted, transfer }: Active): TransferRecord {
    return {
      client: clientName(peer),
      address: plainAddress(peer.address),
      file,
      size,
      bytes: transfer?.bytes ?? 0,
      blocks: transfer?.blocks ?? 0,
      retransmits: transfer?.retransmits ?? 0,
      milliseconds: this.#options.now() - startedAt,
      options: accepted,
    };
  }

  /** A packet from somebody who is not the client of this transfer (RFC 1350): say so to them, go on with the client. */
  #strange(socket: Socket, message: Buffer, sender: RemoteInfo): void {
    if (!canBeAnswered(sender)) return;
    const opcode = message.length < 2 ? 0 : message.readUInt16BE(0);
    // Never an error for an error: two servers would talk for ever.
    if (opcode !== OPCODE.ack && opcode !== OPCODE.data) return;
    const error = encodeError(ERROR_CODE.unknownTransfer, 'unknown transfer');
    socket.send(error, sender.port, sender.address, () => {});
  }

  #refuse(sender: RemoteInfo, file: string, { code, reason }: Refusal): void {
    if (this.#stopped) return;
    this.#options.socket.send(encodeError(code, reason), sender.port, sender.address, () => {});
    const told = { file: printable(file), code, reason: printable(reason) };
    this.#options.onRefused({ client: clientName(sender), address: plainAddress(sender.address), ...told });
  }

  #tick(): void {
    this.#ticker ??= setInterval(() => {
      // After the packets that have arrived already: on a busy machine what is waited for is often among them.
      if (this.#active.size > 0) return void setImmediate(() => this.#onTick());
      clearInterval(this.#ticker);
      this.#ticker = undefined;
    }, TICK_MS);
  }

  #onTick(): void {
    for (const { transfer } of this.#active.values()) transfer?.onTick();
  }
}

/** What a client may say to its transfer. The ACK comes first: it is the one that counts. */
function onReply(transfer: Transfer, message: Buffer): void {
  if (message.length >= 4 && message[0] === 0 && message[1] === OPCODE.ack) {
    transfer.onAck(message.readUInt16BE(2));
    return;
  }
  const packet = parsePacket(message);
  if (packet?.type === 'error') transfer.onError(packet.code, printable(packet.message));
}

/**
 * The same file with other options is another request: EDK2 asks first for the size and then for the file, and when
 * the error between the two is lost, the answer to the first is of no use to it.
 */
function isSameRequest(a: Request, b: Request): boolean {
  return a.filename === b.filename && a.mode === b.mode && isDeepStrictEqual(a.options, b.options);
}

function addClose(active: Active, step: () => void): void {
  const { close } = active;
  active.close = () => {
    step();
    close();
  };
}
