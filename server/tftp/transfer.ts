import { ERROR_CODE, encodeOack, type Options } from './codec.ts';
import type { Terms } from './negotiate.ts';
import { RetransmitTimer } from './retransmit-timer.ts';

/** How a transfer sends; whom it sends to is the wire's business. */
export interface Wire {
  /** One datagram. */
  send(bytes: Buffer): void;
  /** The DATA packets of blocks `first` to `end - 1`, one after another. */
  sendBlocks(blocks: Blocks, first: number, end: number): void;
}

/** A file in blocks, counted from 1. The last one is shorter than the others, and may be empty. */
export interface Blocks {
  content: Buffer;
  blockSize: number;
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
/** One that speaks, but never gets any further, is given up all the same. */
const GIVE_UP_STUCK_MS = 60_000;

/**
 * One download, as a state machine without sockets or clocks of its own: packets and ticks in, packets out.
 *
 * Blocks are counted from 1 without end; on the wire they are cut to 16 bits. `#base` is the first block that is not
 * acknowledged, `#next` the first that was not sent since. At most a window is under way.
 */
export class Transfer {
  readonly #init: TransferInit;
  readonly #timer = new RetransmitTimer();
  readonly #blocks: Blocks;
  readonly #lastBlock: number;
  #phase: 'new' | 'oack' | 'data' | 'ended' = 'new';
  #base = 1;
  #next = 1;
  #sentAt = 0;
  #firstSentAt = 0;
  #heardAt = 0;
  /** When it last got further. */
  #progressedAt = 0;
  /** Something of what is under way was sent more than once: its answer can't be timed. */
  #resent = false;
  /** Something of the window before was sent more than once: it may be acknowledged more than once. */
  #mayEcho = false;
  /** When it was last sent, and how long a round trip takes if the first copy was not lost. */
  #echo: { of: number; roundTrip: number } | undefined;
  /** The last block of the window before, when the current one has blocks of it; else 0. */
  #overlapEnd = 0;
  #heard = false;
  #retransmits = 0;

  constructor(init: TransferInit) {
    this.#init = init;
    const { content, terms } = init;
    // A last block that is full is followed by an empty one: only a short block ends a file.
    this.#lastBlock = Math.floor(content.length / terms.blockSize) + 1;
    this.#blocks = { content, blockSize: terms.blockSize };
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
    this.#heardAt = this.#progressedAt = this.#init.now();
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
      this.#mayEcho = this.#resent;
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
    this.#advance(block);
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
    if (now - this.#progressedAt > GIVE_UP_STUCK_MS) return this.#giveUp(now - this.#progressedAt);
    this.#timer.expired();
    this.#resend();
  }

  stop(result: Extract<Result, 'superseded' | 'stopped'>): void {
    this.#end({ result });
  }

  /**
   * Everything up to this block was received. When blocks after it were sent, too, one of them was lost, and they go out
   * again from there: the window overlaps the one before.
   *
   * But some clients (atftp, EDK2) say where they are whenever a block comes that they have, such as the first one of a
   * window that was sent twice, while those that they lack are still on their way. They give themselves away: next they
   * acknowledge the end of the window before, which they could not have without those. Then what is on its way is not
   * sent again; it would arrive twice, be acknowledged early again, and so on to the end of the file: the sorcerer's
   * apprentice, with windows.
   */
  #advance(block: number): void {
    const end = this.#next - 1;
    const overlaps = block < end;
    const isEarly = overlaps && this.#overlapEnd > 0 && (block === this.#overlapEnd || this.#isTooSoon);
    this.#mayEcho = this.#resent;
    this.#hear();
    this.#overlapEnd = overlaps ? end : 0;
    this.#base = block + 1;
    if (this.#base > this.#lastBlock) return this.#end({ result: 'done' });
    if (!isEarly) this.#retransmits += end - block;
    this.#sendWindow(isEarly ? end + 1 : this.#base);
  }

  /**
   * A repeated acknowledgement asks for the window again when its first block was lost (RFC 7440). It must not be
   * answered every time: that doubles every packet for the rest of the transfer (the sorcerer's apprentice). So: not in
   * lockstep, once for each window, only when enough time has passed for it to be an answer to that window, and not
   * after something was sent twice, since two copies have two acknowledgements: the timer is for those.
   */
  #onRepeatedAck(): void {
    // Whatever it wants, it is there: on a bad link this may be all that gets through for a while.
    this.#heardAt = this.#init.now();
    this.#timeEcho();
    if (this.#init.terms.windowSize === 1 || this.#resent || this.#mayEcho || this.#isTooSoon) return;
    this.#resend();
  }

  /**
   * Both copies of something are acknowledged: nothing was lost, it was only sent again too soon, and this is the answer
   * to the second. Without it, nothing could ever be measured on a link that is slower than the first guess.
   */
  #timeEcho(): void {
    if (this.#echo === undefined) return;
    const { of, roundTrip } = this.#echo;
    const measured = this.#init.now() - of;
    // Else it is about something else: a gap, or the client's own timer.
    if (Math.abs(measured - roundTrip) < roundTrip / 2) this.#timer.measured(measured);
    this.#echo = undefined;
  }

  /** What comes now can't be the answer to what was sent last. Half, as a whole window takes longer than one block. */
  get #isTooSoon(): boolean {
    return this.#init.now() - this.#sentAt < this.#timer.fastestAnswer / 2;
  }

  get #patience(): number {
    return this.#phase === 'oack' ? Math.max(OACK_MS, this.#timer.timeout) : this.#timer.timeout;
  }

  #hear(): void {
    const now = this.#init.now();
    if (this.#resent || this.#overlapEnd > 0) this.#timer.progressed();
    else this.#timer.measured(now - this.#sentAt);
    this.#echo = this.#resent ? { of: this.#sentAt, roundTrip: now - this.#firstSentAt } : undefined;
    this.#heard = true;
    this.#heardAt = this.#progressedAt = now;
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
    this.#noteTime();
    this.#init.wire.send(encodeOack(this.#init.accepted!));
  }

  /** From the first block that is not acknowledged, or a later one on. */
  #sendWindow(first = this.#base): void {
    this.#next = Math.min(this.#base + this.#init.terms.windowSize, this.#lastBlock + 1);
    this.#noteTime();
    this.#init.wire.sendBlocks(this.#blocks, first, this.#next);
  }

  #noteTime(): void {
    this.#sentAt = this.#init.now();
    if (!this.#resent) this.#firstSentAt = this.#sentAt;
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
