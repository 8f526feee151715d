/**
 * When to send again: RFC 6298 for the estimate, with a floor that fits a LAN. A fixed second, as TFTP servers have
 * it, makes 1 % of loss ten times slower than it needs to be; below 50 ms a busy machine makes us resend for nothing.
 */
const FLOOR_MS = 50;
/**
 * Longer than the five seconds after which clients say again where they are: some (atftp) only do so when nothing at
 * all has come for that long, and ignore what they have until then.
 */
const CEILING_MS = 8000;
/** Before the first answer. LANs answer in a millisecond, but firmware can be slow to get going. */
const FIRST_MS = 300;

export class RetransmitTimer {
  #smoothed: number | undefined;
  #variation = 0;
  #fastest = 0;
  #timeout = FIRST_MS;
  #backoff = 1;

  /** An answer to something that was sent only once: others don't tell which sending they answer (Karn). */
  measured(roundTrip: number): void {
    this.#fastest = this.#smoothed === undefined ? roundTrip : Math.min(this.#fastest, roundTrip);
    if (this.#smoothed === undefined) {
      this.#smoothed = roundTrip;
      this.#variation = roundTrip / 2;
    } else {
      this.#variation += (Math.abs(this.#smoothed - roundTrip) - this.#variation) / 4;
      this.#smoothed += (roundTrip - this.#smoothed) / 8;
    }
    this.#backoff = 1;
    this.#timeout = Math.min(CEILING_MS, Math.max(FLOOR_MS, this.#smoothed + 4 * this.#variation));
  }

  /** Something was answered that was sent more than once. Most likely the rest was lost: no reason to be slow. */
  progressed(): void {
    this.#backoff = 1;
  }

  expired(): void {
    this.#backoff = Math.min(256, this.#backoff * 2);
  }

  get timeout(): number {
    return Math.min(CEILING_MS, this.#timeout * this.#backoff);
  }

  /** No answer to what was just sent can come sooner than this, as far as is known. */
  get fastestAnswer(): number {
    return this.#fastest;
  }
}
