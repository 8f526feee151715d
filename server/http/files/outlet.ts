import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/**
 * The way to one client, one piece after the other. Node tells a writer whose client is gone in several ways, or (for a
 * request that was waiting behind another one on its connection) not at all: here they are all one `false`.
 */
export class Outlet {
  readonly #response: ServerResponse;
  readonly #socket: Socket;
  #giveUp: (() => void) | undefined;

  constructor(response: ServerResponse, socket: Socket, stallMs: number) {
    this.#response = response;
    this.#socket = socket;
    socket.once('close', this.#onClose);
    // Node starts it anew whenever the client has taken a byte: slow is fine, dead is not.
    response.setTimeout(stallMs, () => response.destroy());
  }

  /** True when the kernel has taken it all; the bytes may be used for something else then, in either case. */
  write(bytes: Buffer): Promise<boolean> {
    if (this.#isGone) return Promise.resolve(false);
    return new Promise((resolve) => {
      this.#giveUp = () => resolve(false);
      this.#response.write(bytes, (error) => resolve(!error && !this.#isGone));
    });
  }

  end(): void {
    // Whatever comes next on this connection has deadlines of its own.
    this.#response.setTimeout(0);
    this.#response.end();
    this.#leave();
  }

  /** The client sees that it has not got what it was promised. */
  destroy(): void {
    this.#response.destroy();
    this.#leave();
  }

  get #isGone(): boolean {
    return this.#socket.destroyed || this.#response.destroyed;
  }

  readonly #onClose = (): void => this.#giveUp?.();

  #leave(): void {
    this.#socket.off('close', this.#onClose);
  }
}
