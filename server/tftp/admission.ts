export interface AdmissionLimits {
  /** Transfers at once, in all. */
  total: number;
  /** Transfers at once from one address: one broken card must not take the places of the rest. */
  perClient: number;
}

/** Who may start a transfer now. */
export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #active = new Map<string, number>();
  #total = 0;

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
  }

  get total(): number {
    return this.#total;
  }

  /** Why not, or `undefined` and a place is taken. */
  enter(address: string): string | undefined {
    const active = this.#active.get(address) ?? 0;
    if (active >= this.#limits.perClient)
      return `${address} has ${active} transfers under way; that is the limit`;
    if (this.#total >= this.#limits.total) return `${this.#total} transfers are under way; that is the limit`;
    this.#active.set(address, active + 1);
    this.#total++;
    return undefined;
  }

  leave(address: string): void {
    const active = (this.#active.get(address) ?? 1) - 1;
    if (active === 0) this.#active.delete(address);
    else this.#active.set(address, active);
    this.#total--;
  }
}
