import type { HostSpec } from '../inventory/model.ts';
import type { Attempt, Attempts } from './attempts.ts';
import type { FirstBoots } from './first-boots.ts';
import type { KnownMachine, Registrations } from './registrations.ts';

/** What a token is: whose, and what it is good for. */
export type Credential =
  /** The token of a boot from the network. */
  | { kind: 'attempt'; token: string; host: HostSpec; attempt: Attempt }
  /** That of the first boot from disk. */
  | { kind: 'first-boot'; token: string; host: HostSpec; attempt: Attempt }
  /** A machine's own; its boot may be over in our books. */
  | { kind: 'agent'; token: string; host: HostSpec; attempt: Attempt | undefined; machine: KnownMachine };

export type BootCredential = Extract<Credential, { kind: 'attempt' | 'first-boot' }>;

export interface CredentialsOptions {
  attempts: Attempts;
  /** An attempt that is open, or is still offered. */
  attemptOf: (token: string) => Promise<{ attempt: Attempt; host: HostSpec } | undefined>;
  firstBoots: FirstBoots;
  registrations: Registrations;
  hostOf: (name: string) => HostSpec | undefined;
}

/** The one place that knows all kinds of tokens that machines show. */
export class Credentials {
  readonly #options: CredentialsOptions;

  constructor(options: CredentialsOptions) {
    this.#options = options;
  }

  /** `undefined` for a token that is over, was never given out, or belongs to a host that is no longer there. */
  async find<Kind extends Credential['kind']>(
    token: string,
    kinds: readonly Kind[],
  ): Promise<Extract<Credential, { kind: Kind }> | undefined> {
    for (const kind of kinds) {
      const found = await this.#find(token, kind);
      if (found !== undefined) return found as Extract<Credential, { kind: Kind }>;
    }
    return undefined;
  }

  async #find(token: string, kind: Credential['kind']): Promise<Credential | undefined> {
    const { attempts, attemptOf, firstBoots, registrations, hostOf } = this.#options;
    if (kind === 'attempt') {
      const found = await attemptOf(token);
      return found === undefined ? undefined : { kind, token, ...found };
    }
    if (kind === 'agent') {
      const machine = await registrations.find(token);
      const host = machine === undefined ? undefined : hostOf(machine.host);
      if (machine === undefined || host === undefined) return undefined;
      const attempt = machine.attempt === undefined ? undefined : await attempts.byId(machine.attempt);
      return { kind, token, host, attempt, machine };
    }
    const known = await firstBoots.find(token);
    if (known === undefined) return undefined;
    const host = hostOf(known.host);
    const attempt = await attempts.byId(known.attempt);
    return host === undefined || attempt === undefined ? undefined : { kind, token, host, attempt };
  }
}

/** The token of `Authorization: Bearer …`. */
export function bearerOf(header: string | undefined): string | undefined {
  return /^Bearer ([\w-]{22})$/i.exec(header ?? '')?.[1];
}
