import type { FileHandle } from 'node:fs/promises';
import { type Identity, isStill, locate } from './locate.ts';

/** A file that is open once, however many read it. Who holds it reads these bytes, whatever takes its name since. */
export class OpenFile {
  readonly identity: Identity;
  readonly path: string;
  readonly #handle: FileHandle;
  readonly #onUnused: () => void;
  #holders = 1;

  constructor(path: string, identity: Identity, handle: FileHandle, onUnused: () => void) {
    this.path = path;
    this.identity = identity;
    this.#handle = handle;
    this.#onUnused = onUnused;
  }

  get fd(): number {
    return this.#handle.fd;
  }

  hold(): this {
    this.#holders++;
    return this;
  }

  release(): void {
    if (--this.#holders > 0) return;
    this.#onUnused();
    this.#handle.close().catch(() => {});
  }

  /** Fills `into` with what is at `position`, or throws: there are no half answers. */
  async read(into: Buffer, position: number): Promise<void> {
    for (let done = 0; done < into.length; ) {
      const { bytesRead } = await this.#handle.read(into, done, into.length - done, position + done);
      if (bytesRead === 0) throw new FileChanged(this.path);
      done += bytesRead;
    }
    if (!(await this.isUnchanged())) throw new FileChanged(this.path);
  }

  async isUnchanged(): Promise<boolean> {
    return isStill(this.identity, await this.#handle.stat({ bigint: true }));
  }
}

export class FileChanged extends Error {
  constructor(path: string) {
    super(`${path} was cut or changed while it was read`);
  }
}

export class OpenFiles {
  readonly #files = new Map<string, OpenFile>();

  get count(): number {
    return this.#files.size;
  }

  /** The caller holds it and has to release it. */
  async open(file: { root: string; path: string }): Promise<OpenFile> {
    const { handle, identity } = await locate(file);
    const shared = this.#files.get(identity.key);
    if (shared !== undefined) {
      shared.hold();
      await handle.close();
      return shared;
    }
    const opened = new OpenFile(file.path, identity, handle, () => this.#files.delete(identity.key));
    this.#files.set(identity.key, opened);
    return opened;
  }
}
