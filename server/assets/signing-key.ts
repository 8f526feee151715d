import { randomBytes } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FetchFault, reasonOf } from './fault.ts';
import { fetchSmall } from './fetch-small.ts';
import { pinnedKey } from './signature.ts';
import type { Web } from './web.ts';

export interface SigningKeyOptions {
  /** Where the key is kept, in ASCII armour. */
  file: string;
  /** Where a newer one is fetched from. */
  url: string;
  /** Of the one primary key that is trusted. Whatever comes from anywhere must have it. */
  fingerprint: string;
  web: Pick<Web, 'open'>;
}

/**
 * The key that images are signed with. The primary key never changes, so it is pinned by its fingerprint; the subkeys
 * that sign do change, so the file with them can be fetched anew from anywhere: it counts only if it is of that key.
 */
export class SigningKey {
  readonly #options: SigningKeyOptions;
  /** Several downloads may want it at once: it is fetched for all of them together. */
  #refreshing: Promise<string> | undefined;
  /** A file that was found to be of the pinned key: looking again takes long. */
  #known: string | undefined;

  constructor(options: SigningKeyOptions) {
    this.#options = options;
  }

  get fingerprint(): string {
    return this.#options.fingerprint.toUpperCase();
  }

  /** The key file's text; fetched when there is none yet. */
  async load(signal: AbortSignal): Promise<string> {
    return (await this.kept()) ?? this.refresh(signal);
  }

  /** Fetches the key file anew, and keeps it if it is of the pinned key. */
  refresh(signal: AbortSignal): Promise<string> {
    this.#refreshing ??= this.#fetch(signal).finally(() => {
      this.#refreshing = undefined;
    });
    return this.#refreshing;
  }

  async #fetch(signal: AbortSignal): Promise<string> {
    const { url, web } = this.#options;
    try {
      return await this.accept((await fetchSmall(web, url, { signal })).toString('utf8'), url);
    } catch (error) {
      signal.throwIfAborted();
      throw new FetchFault(`The signing key can't be had: ${reasonOf(error)}`, { cause: error });
    }
  }

  /** Takes a key file from anywhere, if it is of the pinned key. */
  async accept(text: string, origin: string): Promise<string> {
    if ((await pinnedKey(text, this.fingerprint)) === undefined)
      throw new FetchFault(`${origin} has no key with the fingerprint ${this.fingerprint}.`);
    const { file } = this.#options;
    await mkdir(dirname(file), { recursive: true });
    const fresh = `${file}.${randomBytes(6).toString('hex')}.new`;
    await writeFile(fresh, text);
    await rename(fresh, file);
    return text;
  }

  /** The key file's text, if there is one; nothing is fetched. */
  async kept(): Promise<string | undefined> {
    const text = await readFile(this.#options.file, 'utf8').catch(() => undefined);
    if (text === undefined || text === this.#known) return text;
    if ((await pinnedKey(text, this.fingerprint)) === undefined) return undefined;
    this.#known = text;
    return text;
  }
}
