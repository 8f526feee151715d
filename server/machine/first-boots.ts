import type { HostSpec } from '../inventory/model.ts';
import { findFirstBoot, insertFirstBoot } from '../store/first-boots.ts';
import type { Store } from '../store/store.ts';
import { idOf } from './attempts.ts';

export interface FirstBootsOptions {
  store: Store;
  now: () => number;
  tokenOf: (...facts: string[]) => string;
}

/**
 * Tokens that an installer exchanges its own for, and writes to the disk it installs: good for the first boot from
 * there, from any address and whenever that is, until the host reports that it is provisioned or is installed anew.
 */
export class FirstBoots {
  readonly #options: FirstBootsOptions;

  constructor(options: FirstBootsOptions) {
    this.#options = options;
  }

  /** The token of this installation: always the same one, however often the installer asks. */
  async issue(host: HostSpec, attempt: string): Promise<string> {
    const { store, now, tokenOf } = this.#options;
    const token = tokenOf(attempt);
    await insertFirstBoot(store.db, {
      token: idOf(token),
      host: host.name,
      attempt,
      created_at: now(),
      ended_at: null,
    });
    return token;
  }

  async find(token: string): Promise<{ host: string; attempt: string } | undefined> {
    if (!/^[\w-]{22}$/.test(token)) return undefined;
    const row = await findFirstBoot(this.#options.store.db, idOf(token));
    return row === undefined || row.ended_at !== null ? undefined : { host: row.host, attempt: row.attempt };
  }
}
