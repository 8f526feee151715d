import { hash } from 'node:crypto';

/** Views of a few extensions; one takes about 300 bytes. */
const MAX_KEPT = 1000;

/** Signs each content once, however often it is asked for. */
export class Signatures {
  readonly #sign: (bytes: Uint8Array) => Promise<Buffer>;
  /** By hash of what is signed, the one that was used last at the end. */
  readonly #kept = new Map<string, Promise<Buffer>>();

  constructor(sign: (bytes: Uint8Array) => Promise<Buffer>) {
    this.#sign = sign;
  }

  of(bytes: Uint8Array): Promise<Buffer> {
    const key = hash('sha256', bytes);
    const known = this.#kept.get(key);
    this.#kept.delete(key);
    const signature = known ?? this.#sign(bytes);
    this.#kept.set(key, signature);
    if (known !== undefined) return known;
    if (this.#kept.size > MAX_KEPT) this.#kept.delete(this.#kept.keys().next().value!);
    signature.catch(() => {
      if (this.#kept.get(key) === signature) this.#kept.delete(key);
    });
    return signature;
  }
}
