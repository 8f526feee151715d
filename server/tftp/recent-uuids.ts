const KEPT_MS = 60_000;
const MAX_ADDRESSES = 2000;

/** Which UUID a client told a moment ago: pxelinux tells its UUID and its MAC in two requests. */
export class RecentUuids {
  readonly #byAddress = new Map<string, { uuid: string; until: number }>();
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  note(address: string, uuid: string): void {
    this.#byAddress.delete(address);
    this.#byAddress.set(address, { uuid, until: this.#now() + KEPT_MS });
    if (this.#byAddress.size > MAX_ADDRESSES) this.#byAddress.delete(this.#byAddress.keys().next().value!);
  }

  of(address: string): string | undefined {
    const found = this.#byAddress.get(address);
    return found === undefined || this.#now() > found.until ? undefined : found.uuid;
  }
}
