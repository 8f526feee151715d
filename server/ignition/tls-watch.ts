import type { NewEvent } from '../events/kinds.ts';

/** How long after its pointer a machine may be expected to come by TLS. */
const EXPECTED_MS = 15 * 60_000;
const MAX_ADDRESSES = 2000;

interface Expected {
  host: string;
  attempt: string;
  until: number;
}

/** Tells of machines that were sent to the TLS URL and could not get in: a wrong clock or a foreign CA, mostly. */
export class TlsWatch {
  readonly #expected = new Map<string, Expected>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  expect(address: string, { host, attempt }: { host: string; attempt: string }): void {
    this.#expected.delete(address);
    this.#expected.set(address, { host, attempt, until: this.#now() + EXPECTED_MS });
    if (this.#expected.size > MAX_ADDRESSES) this.#expected.delete(this.#expected.keys().next().value!);
  }

  /** What to tell of a handshake that failed; nothing, if nobody was expected from there. */
  failed(address: string, reason: string): NewEvent | undefined {
    const expected = this.#expected.get(address);
    if (expected === undefined || this.#now() > expected.until) return undefined;
    const { host, attempt } = expected;
    return { kind: 'boot.tls-failed', host, attempt, data: { address, reason } };
  }
}
