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
  /** The client only wanted to know the size (firmware does so before every download). */
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

/** How a client leaves that only wanted to know the size: EDK2 with error 8, PXE ROMs with error 0. */
const ENOUGH: readonly number[] = [ERROR_CODE.optionsRefused, ERROR_CODE.undefined];
/** Options are told again only after this: to some clients (atftp) a second OACK is an error that ends it all. */
const OACK_MS = 1000;
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
  /** Something of what is under way was sent more than once: its answer can't be timed. */
  #resent = false;
  /** Only its last block was, to hear where the client is. */
  #probed = false;
  /** All of it was, and the client may have had some of it already. */
  #doubled = false;
  /** Something of the window before was sent more than once: it may be acknowledged more than once. */
  #mayEcho = false;
  /** When it was last sent, until that is acknowledged, too. */
  #echoOf: number | undefined;
  /** The last block of the window before, when the current one has blocks of it; else 0. */
  #overlapEnd = 0;
  /** The last acknowledgement was taken for an early one. */
  #slid = false;
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
    // Blocks behind this one were sent already: the client tells of a gap, or of one that came twice.
    const sent = this.#next - 1 - block;
    const slides = sent > 0 && this.#isEarly(block);
    this.#mayEcho = this.#resent || sent > 0;
    this.#overlapEnd = slides || sent === 0 ? 0 : this.#next - 1;
    this.#slid = slides;
    this.#hear();
    this.#base = block + 1;
    if (this.#base > this.#lastBlock) return this.#end({ result: 'done' });
    if (slides) {
      this.#resent = true; // not to be timed: part of it was sent before
      this.#sendWindow(this.#next);
    } else {
      this.#retransmits += sent;
      this.#sendWindow();
    }
  }

  onError(code: number, message: string): void {
    const wasTold = this.#phase === 'oack' && this.#init.accepted?.tsize !== undefined;
    if (wasTold && ENOUGH.includes(code)) return this.#end({ result: 'size-only' });
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
    if (now - this.#sentAt < this.#patience) return;
    const patience = this.#heard ? GIVE_UP_MS : GIVE_UP_UNHEARD_MS;
    if (now - this.#heardAt > patience) return this.#giveUp(now - this.#heardAt);
    this.#timer.expired();
    if (this.#phase === 'data' && !this.#resent && this.#next - this.#base > 1) return this.#probe();
    this.#doubled = this.#phase === 'data';
    this.#resend();
  }

  stop(result: Extract<Result, 'superseded' | 'stopped'>): void {
    this.#end({ result });
  }

  /**
   * Nobody answers a window: its last block was lost, or the acknowledgement. That block alone finds out, as any answer
   * to it tells what the client has, and costs the least when the answer was only late.
   */
  #probe(): void {
    this.#resent = true;
    this.#probed = true;
    this.#retransmits++;
    this.#sendWindow(this.#next - 1);
  }

  /**
   * Some clients (atftp, EDK2) say where they are as soon as a block comes that they have. When a whole window was sent
   * again, they do so at its first block, while those that they lack are still on their way. To send these once more
   * would have them arrive twice, be acknowledged early, and so on: the sorcerer's apprentice with windows. So the
   * window moves on without them; if they were lost, the timer sends them, and the next time it is taken for a gap.
   */
  #isEarly(block: number): boolean {
    return (this.#doubled && !this.#slid) || block === this.#overlapEnd;
  }

  /**
   * A repeated acknowledgement asks for the window again when its first block was lost (RFC 7440). It must not be
   * answered every time: that doubles every packet for the rest of the transfer (the sorcerer's apprentice). So: not in
   * lockstep, once for each window, only when enough time has passed for it to be an answer to that window, and not
   * after something was sent twice, since two copies have two acknowledgements: the timer is for those.
   */
  #onRepeatedAck(): void {
    this.#timeEcho();
    if (this.#init.terms.windowSize === 1) return;
    if (!this.#probed && (this.#resent || this.#mayEcho)) return;
    if (this.#init.now() - this.#sentAt < this.#timer.fastestAnswer) return;
    this.#probed = false;
    this.#heardAt = this.#init.now();
    this.#resend();
  }

  /**
   * Both copies of something are acknowledged: nothing was lost, it was only sent again too soon, and this is the answer
   * to the second. Without it, nothing could ever be measured on a link that is slower than the first guess.
   */
  #timeEcho(): void {
    if (this.#echoOf === undefined) return;
    this.#timer.measured(this.#init.now() - this.#echoOf);
    this.#echoOf = undefined;
  }

  get #patience(): number {
    return this.#phase === 'oack' ? Math.max(OACK_MS, this.#timer.timeout) : this.#timer.timeout;
  }

  #hear(): void {
    const now = this.#init.now();
    if (this.#resent) this.#timer.progressed();
    else this.#timer.measured(now - this.#sentAt);
    this.#echoOf = this.#resent ? this.#sentAt : undefined;
    this.#heard = true;
    this.#heardAt = now;
    this.#resent = this.#probed = this.#doubled = false;
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

  /** From the first block that is not acknowledged, or a later one on. */
  #sendWindow(first = this.#base): void {
    const { content, terms, wire } = this.#init;
    const { blockSize } = terms;
    const end = Math.min(this.#base + terms.windowSize, this.#lastBlock + 1);
    // Bytes that the system has not taken yet must stay as they are.
    if (!wire.isIdle()) this.#window = Buffer.allocUnsafeSlow(this.#window.length);
    const window = this.#window;
    let length = 0;
    for (let block = first; block < end; block++) {
      writeDataHeader(window, length, block);
      const from = (block - 1) * blockSize;
      length += DATA_HEADER_BYTES + content.copy(window, length + DATA_HEADER_BYTES, from, from + blockSize);
    }
    this.#next = end;
    this.#sentAt = this.#init.now();
    if (length > 0) wire.sendRun(window.subarray(0, length), blockSize + DATA_HEADER_BYTES);
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
