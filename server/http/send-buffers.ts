const BUFFER_BYTES = 32 * 1024;
const MAX_FREE = 64;

/**
 * Buffers for what is put together only to be sent, and used again after that. Memory that was used a moment ago is
 * still in the processor's cache; and what is not allocated anew for every answer, nobody has to collect.
 */
export class SendBuffers {
  readonly #free: Buffer[] = [];

  /** One with room for so many bytes, or for more. */
  take(size: number): Buffer {
    if (size > BUFFER_BYTES) return Buffer.allocUnsafe(size);
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(BUFFER_BYTES);
  }

  /** Only when the system has all of it. One that is never given back is collected like any other. */
  giveBack(buffer: Buffer): void {
    if (buffer.length === BUFFER_BYTES && this.#free.length < MAX_FREE) this.#free.push(buffer);
  }
}
