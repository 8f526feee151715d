import {
  ERROR_CODE,
  encodeAck,
  encodeError,
  encodeRequest,
  type Options,
  type Packet,
} from '../tftp/codec.ts';
import { DEFAULT_TERMS } from '../tftp/negotiate.ts';

/** What a client asks for besides the file; without any, it speaks as in 1981. */
export interface AskedTerms {
  blockSize?: number;
  windowSize?: number;
  /** Ask how long the file is. */
  wantsSize?: boolean;
}

export type DownloadEnding =
  | { result: 'done'; bytes: number }
  | { result: 'refused'; code: number; message: string }
  | { result: 'failed'; reason: string };

export interface DownloadInit {
  file: string;
  terms: AskedTerms;
  send: (bytes: Buffer) => void;
  onData: (payload: Buffer) => void;
  onEnd: (ending: DownloadEnding) => void;
  now: () => number;
}

/** As firmware does: a second, then longer and longer. */
const FIRST_PATIENCE_MS = 1000;
const MAX_PATIENCE_MS = 4000;
/** Nobody answers a request; a switch port that comes up late takes this long. */
const GIVE_UP_ASKING_MS = 40_000;
/** A download that has begun and is silent. The server gives up after 20 s, and on a bad link before it is heard. */
const GIVE_UP_MS = 30_000;
/** Blocks that come twice are told of once in this time: each time would double every packet from then on. */
const COMPLAINT_MS = 40;

/** One download from the client's side, as a state machine without sockets or clocks: packets and ticks in, packets out. */
export class Download {
  readonly #init: DownloadInit;
  #phase: 'asking' | 'receiving' | 'ended' = 'asking';
  #blockSize = DEFAULT_TERMS.blockSize;
  #windowSize = DEFAULT_TERMS.windowSize;
  /** As the server says it is, if asked. */
  #size: number | undefined;
  /** The block that is next in order, counted from 1 without end. */
  #expected = 1;
  #inWindow = 0;
  #bytes = 0;
  #sentAt = 0;
  #heardAt = 0;
  #patience = FIRST_PATIENCE_MS;
  #complaint = { block: -1, at: 0 };
  #retransmits = 0;

  constructor(init: DownloadInit) {
    this.#init = init;
  }

  /** Packets that were sent more than once. */
  get retransmits(): number {
    return this.#retransmits;
  }

  /** Milliseconds until `onTick` has something to do, if nothing comes meanwhile. */
  get due(): number {
    return Math.max(1, this.#sentAt + this.#patience - this.#init.now());
  }

  start(): void {
    this.#heardAt = this.#init.now();
    this.#ask();
  }

  onPacket(packet: Packet | undefined): void {
    if (this.#phase === 'ended' || packet === undefined) return;
    switch (packet.type) {
      case 'oack':
        return this.#onOack(packet.options);
      case 'data':
        return this.#onData(packet.block, packet.payload);
      case 'error':
        return this.#end({ result: 'refused', code: packet.code, message: packet.message });
    }
  }

  /** Time has passed. */
  onTick(): void {
    if (this.#phase === 'ended') return;
    const now = this.#init.now();
    if (now - this.#sentAt < this.#patience) return;
    const silence = now - this.#heardAt;
    if (silence >= (this.#phase === 'asking' ? GIVE_UP_ASKING_MS : GIVE_UP_MS)) {
      return this.#end({ result: 'failed', reason: `TFTP is silent for ${Math.round(silence / 1000)} s` });
    }
    this.#patience = Math.min(MAX_PATIENCE_MS, this.#patience * 2);
    this.#retransmits++;
    if (this.#phase === 'asking') this.#ask();
    else this.#acknowledge();
  }

  #ask(): void {
    const { file, terms } = this.#init;
    const options: Record<string, string> = {};
    if (terms.wantsSize) options.tsize = '0';
    if (terms.blockSize !== undefined) options.blksize = String(terms.blockSize);
    if (terms.windowSize !== undefined) options.windowsize = String(terms.windowSize);
    this.#send(encodeRequest({ type: 'read', filename: file, mode: 'octet', options }));
  }

  #onOack(options: Options): void {
    if (this.#phase === 'receiving') {
      // Told again: our answer to it was lost.
      if (this.#expected === 1) this.#complain();
      return;
    }
    const { terms } = this.#init;
    const blockSize = numberOf(options.blksize) ?? DEFAULT_TERMS.blockSize;
    const windowSize = numberOf(options.windowsize) ?? DEFAULT_TERMS.windowSize;
    // RFC 2348, 7440: at most what was asked for.
    const limit = { blockSize: terms.blockSize ?? blockSize, windowSize: terms.windowSize ?? windowSize };
    if (blockSize < 8 || blockSize > limit.blockSize || windowSize < 1 || windowSize > limit.windowSize) {
      const reason = `the server wants blksize ${blockSize} and windowsize ${windowSize}`;
      this.#send(encodeError(ERROR_CODE.optionsRefused, reason));
      return this.#end({ result: 'failed', reason });
    }
    this.#blockSize = blockSize;
    this.#windowSize = windowSize;
    this.#size = numberOf(options.tsize);
    this.#phase = 'receiving';
    this.#progressed();
    this.#acknowledge();
  }

  #onData(wireBlock: number, payload: Buffer): void {
    // An answer without options to a request with some: the server knows none.
    this.#phase = 'receiving';
    if (wireBlock !== (this.#expected & 0xffff)) return this.#complain();
    if (payload.length > this.#blockSize) {
      return this.#end({ result: 'failed', reason: `a block of ${payload.length} bytes came` });
    }
    this.#expected++;
    this.#inWindow++;
    this.#bytes += payload.length;
    this.#progressed();
    this.#init.onData(payload);
    if (payload.length < this.#blockSize) {
      this.#acknowledge();
      return this.#finish();
    }
    if (this.#inWindow >= this.#windowSize) this.#acknowledge();
  }

  #finish(): void {
    if (this.#size === undefined || this.#size === this.#bytes) {
      return this.#end({ result: 'done', bytes: this.#bytes });
    }
    const reason = `${this.#bytes} bytes came, the server had said ${this.#size}`;
    this.#end({ result: 'failed', reason });
  }

  /** Something came that is not next in order: say where we are. */
  #complain(): void {
    const now = this.#init.now();
    const { block, at } = this.#complaint;
    if (block === this.#expected && now - at < COMPLAINT_MS) return;
    this.#complaint = { block: this.#expected, at: now };
    this.#retransmits++;
    this.#acknowledge();
  }

  #acknowledge(): void {
    this.#inWindow = 0;
    this.#send(encodeAck(this.#expected - 1));
  }

  #progressed(): void {
    this.#heardAt = this.#init.now();
    // What is waited for is the next block from now on, not from our last word on.
    this.#sentAt = this.#heardAt;
    this.#patience = FIRST_PATIENCE_MS;
  }

  #send(bytes: Buffer): void {
    this.#sentAt = this.#init.now();
    this.#init.send(bytes);
  }

  #end(ending: DownloadEnding): void {
    this.#phase = 'ended';
    this.#init.onEnd(ending);
  }
}

function numberOf(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,12}$/.test(text) ? Number(text) : undefined;
}
