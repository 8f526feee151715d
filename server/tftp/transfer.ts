import { DATA_HEADER_BYTES, ERROR_CODE, encodeOack, type Options, writeDataHeader } from './codec.ts';
import type { Terms } from './negotiate.ts';
import { RetransmitTimer } from './retransmit-timer.ts';

/** How a transfer sends; whom it sends to is the wire's business. */
export interface Wire {
  /** One datagram. */
  send(bytes: Buffer): void;
  /** Several datagrams of `packetBytes` each, one after another; the last may be shorter. */
  sendRun(bytes: Buffer, packetBytes: number): void;
  /** False while the system still holds bytes that were handed to it: they must not be overwritten yet. */
  isIdle(): boolean;
}

export type Result =
  /** Every block was acknowledged. */
  | 'done'
  /** Every block was sent, but the last acknowledgement never came: clients often leave without it. */
  | 'unconfirmed'
  /** The client only wanted to know the size (EDK2 does so before every download). */
  | 'size-only'
  | 'client-error'
  | 'timeout'
  /** The same client asked anew. */
  | 'superseded'
  | 'stopped';

export interface Ending {
  result: Result;
  reason?: string;
}

export interface TransferInit {
  content: Buffer;
  terms: Terms;
  /** What to say in the OACK; without it the first block goes out at once. */
  accepted: Options | undefined;
  wire: Wire;
  now: () => number;
  onEnd: (ending: Ending) => void;
}

/** How long a silent client is waited for: long enough for a switch port that comes up late. */
const GIVE_UP_MS = 20_000;
/** One that has never answered is most likely not there: a broken card that only ever asks. */
const GIVE_UP_UNHEARD_MS = 8000;

/**
 * One download, as a state machine without sockets or clocks of its own: packets and ticks in, packets out.
 *
 * Blocks are counted from 1 without end; on the wire they are cut to 16 bits. `#base` is the first block that is not
 * acknowledged, `#next` the first that was not sent since. At most a window is under way.
 */
export class Transfer {
  readonly #init: TransferInit;
  readonly #timer = new RetransmitTimer();
  readonly #lastBlock: number;
  #window: Buffer;
  #phase: 'new' | 'oack' | 'data' | 'ended' = 'new';
  #base = 1;
  #next = 1;
  #sentAt = 0;
  #heardAt = 0;
  /** What is under way was sent more than once: its answer can't be timed. */
  #resent = false;
  /** This base was already sent again because of a repeated acknowledgement. */
  #hurriedBase = 0;
  #heard = false;
  #retransmits = 0;

  constructor(init: TransferInit) {
    this.#init = init;
    const { content, terms } = init;
    // A last block that is full is followed by an empty one: only a short block ends a file.
    this.#lastBlock = Math.floor(content.length / terms.blockSize) + 1;
    const blocks = Math.min(terms.windowSize, this.#lastBlock);
    this.#window = Buffer.allocUnsafeSlow(blocks * (terms.blockSize + DATA_HEADER_BYTES));
  }

  get blocks(): number {
    return Math.min(this.#base - 1, this.#lastBlock);
  }

  get bytes(): number {
    return Math.min((this.#base - 1) * this.#init.terms.blockSize, this.#init.content.length);
  }

  get retransmits(): number {
    return this.#retransmits;
  }

  get hasBegun(): boolean {
    return this.#heard;
  }

  /** Milliseconds since the client was last heard of. */
  get silence(): number {
    return this.#init.now() - this.#heardAt;
  }

  start(): void {
    this.#heardAt = this.#init.now();
    if (this.#init.accepted === undefined) {
      this.#phase = 'data';
      this.#sendWindow();
    } else {
      this.#phase = 'oack';
      this.#sendOack();
    }
  }

  onAck(wireBlock: number): void {
    if (this.#phase === 'oack') {
      if (wireBlock !== 0) return;
      this.#hear();
      this.#phase = 'data';
      this.#sendWindow();
      return;
    }
    if (this.#phase !== 'data') return;
    // Which block is meant: the first one from the last acknowledged on that looks like this in 16 bits.
    const acknowledged = this.#base - 1;
    const block = acknowledged + ((wireBlock - acknowledged) & 0xffff);
    if (block >= this.#next) return; // older than what we know, or never sent
    if (block === acknowledged) return this.#onRepeatedAck();
    this.#hear();
    this.#base = block + 1;
    if (this.#base > this.#lastBlock) return this.#end({ result: 'done' });
    this.#sendWindow();
  }

  onError(code: number, message: string): void {
    if (this.#phase === 'oack' && code === ERROR_CODE.optionsRefused)
      return this.#end({ result: 'size-only' });
    const text = message === '' ? `error ${code}` : `error ${code}: ${message}`;
    this.#end({ result: 'client-error', reason: text });
  }

  /** The client asks again before it has acknowledged anything: our answer was lost. */
  onRepeatedRequest(): void {
    if (this.#heard || this.#init.now() - this.#sentAt < this.#timer.timeout / 2) return;
    this.#resend();
  }

  /** Called every few milliseconds. */
  onTick(): void {
    if (this.#phase === 'ended') return;
    const now = this.#init.now();
    if (now - this.#sentAt < this.#timer.timeout) return;
    const patience = this.#heard ? GIVE_UP_MS : GIVE_UP_UNHEARD_MS;
    if (now - this.#heardAt > patience) return this.#giveUp(now - this.#heardAt);
    this.#timer.expired();
    this.#resend();
  }

  stop(result: Extract<Result, 'superseded' | 'stopped'>): void {
    this.#end({ result });
  }

  /**
   * A repeated acknowledgement asks for the window again when its first block was lost (RFC 7440). It must not be
   * answered every time: that doubles every packet for the rest of the transfer (the sorcerer's apprentice). So: not in
   * lockstep, once for each base, and only when enough time has passed for it to be an answer to the current window.
   */
  #onRepeatedAck(): void {
    if (this.#init.terms.windowSize === 1 || this.#base === this.#next) return;
    if (this.#hurriedBase === this.#base) return;
    if (this.#init.now() - this.#sentAt < this.#timer.fastestAnswer) return;
    this.#hurriedBase = this.#base;
    this.#heardAt = this.#init.now();
    this.#resend();
  }

  #hear(): void {
    const now = this.#init.now();
    if (!this.#resent) this.#timer.measured(now - this.#sentAt);
    this.#heard = true;
    this.#heardAt = now;
    this.#resent = false;
  }

  #resend(): void {
    this.#resent = true;
    if (this.#phase === 'oack') {
      this.#retransmits++;
      this.#sendOack();
    } else {
      this.#retransmits += this.#next - this.#base;
      this.#sendWindow();
    }
  }

  #sendOack(): void {
    this.#sentAt = this.#init.now();
    this.#init.wire.send(encodeOack(this.#init.accepted!));
  }

  #sendWindow(): void {
    const { content, terms, wire } = this.#init;
    const { blockSize } = terms;
    const end = Math.min(this.#base + terms.windowSize, this.#lastBlock + 1);
    // Bytes that the system has not taken yet must stay as they are.
    if (!wire.isIdle()) this.#window = Buffer.allocUnsafeSlow(this.#window.length);
    const window = this.#window;
    let length = 0;
    for (let block = this.#base; block < end; block++) {
      writeDataHeader(window, length, block);
      const from = (block - 1) * blockSize;
      length += DATA_HEADER_BYTES + content.copy(window, length + DATA_HEADER_BYTES, from, from + blockSize);
    }
    this.#next = end;
    this.#sentAt = this.#init.now();
    wire.sendRun(window.subarray(0, length), blockSize + DATA_HEADER_BYTES);
  }

  #giveUp(silence: number): void {
    const seconds = Math.round(silence / 1000);
    if (this.#phase === 'data' && this.#heard && this.#next > this.#lastBlock) {
      return this.#end({
        result: 'unconfirmed',
        reason: `no acknowledgement of the last blocks for ${seconds} s`,
      });
    }
    const what = this.#heard ? `silent for ${seconds} s` : `never answered (${seconds} s)`;
    this.#end({ result: 'timeout', reason: `the client was ${what}`.replace('was never', 'never') });
  }

  #end(ending: Ending): void {
    if (this.#phase === 'ended') return;
    this.#phase = 'ended';
    this.#init.onEnd(ending);
  }
}
