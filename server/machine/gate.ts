import { RailheadError } from '../errors.ts';
import type { NewEvent } from '../events/kinds.ts';
import type { EventLog } from '../events/log.ts';
import { findHostRow } from '../store/hosts.ts';
import type { Store } from '../store/store.ts';
import { type AdmitPolicy, type Asker, admit, expiry } from './admit.ts';
import { type Attempt, shortId } from './attempts.ts';
import type { Credential } from './credentials.ts';

export interface GateOptions {
  store: Store;
  events: EventLog;
  policy: AdmitPolicy;
  /** How long a boot has made no progress. */
  idleMs: (attempt: Attempt) => number;
  /** What can be seen of who has this address. */
  askerOf: (address: string) => Asker;
  isNews: (source: string, what: string) => boolean;
}

/** Stands before everything that only one host may have, and tells of everybody it turns away. */
export class Gate {
  readonly #options: GateOptions;

  constructor(options: GateOptions) {
    this.#options = options;
  }

  /**
   * Throws when `what` must not go to this address now. `whileHeld`: a hold is about the next boot, and does not
   * matter to this.
   */
  async pass(
    credential: Credential,
    address: string,
    what: string,
    { whileHeld = false } = {},
  ): Promise<void> {
    const { store, policy, askerOf } = this.#options;
    const { host, kind } = credential;
    const hold = whileHeld ? undefined : (await findHostRow(store.db, host.name))?.hold_reason;
    // A machine boots from its disk whenever it is switched on, and with whatever address it is given then.
    const limited = kind === 'attempt' ? credential.attempt : undefined;
    const admission = admit({
      host,
      hold: hold ?? undefined,
      asker: askerOf(address),
      idleMs: limited && this.#options.idleMs(limited),
      openedFrom: limited?.openedFrom,
      policy,
    });
    const about = aboutOf(credential);
    if (admission.verdict === 'admitted') {
      const { note: reason } = admission;
      if (reason !== undefined) this.#tell({ kind: 'boot.address-changed', ...about, data: { reason } });
      return;
    }
    const { verdict, why } = admission;
    this.#tell({ kind: 'boot.token-refused', ...about, data: { what, reason: why, address } });
    // A refusal would send a machine that boots from its disk into an endless loop; one that waits can be helped.
    if (verdict === 'wait' || kind === 'first-boot') {
      throw new RailheadError('RH_HOST_HELD', `Not now: ${why}.`);
    }
    throw new RailheadError('RH_TOKEN_REFUSED', `Refused: ${why}.`);
  }

  /** Throws when the token has expired, for what needs nothing else. */
  assertFresh(credential: Credential, address: string, what: string): void {
    const { policy } = this.#options;
    const why =
      credential.kind === 'attempt' ? expiry(this.#options.idleMs(credential.attempt), policy) : undefined;
    if (why === undefined) return;
    this.#tell({ kind: 'boot.token-refused', ...aboutOf(credential), data: { what, reason: why, address } });
    throw new RailheadError('RH_TOKEN_REFUSED', `Refused: ${why}.`);
  }

  /** Somebody showed a token that is none. */
  refuseUnknown(address: string, what: string): RailheadError {
    const reason = 'the token belongs to no boot that is under way';
    this.#tell({ kind: 'boot.token-refused', data: { what, reason, address } });
    return new RailheadError('RH_TOKEN_REFUSED', `Refused: ${reason}.`, {
      hint: 'The machine must boot anew from the network.',
    });
  }

  #tell(event: NewEvent): void {
    const { events, isNews } = this.#options;
    if (isNews(event.host ?? '', JSON.stringify(event.data))) void events.append(event).catch(() => {});
  }
}

function aboutOf({ host, attempt }: Credential): { host: string; attempt?: string } {
  return { host: host.name, ...(attempt === undefined ? {} : { attempt: shortId(attempt.id) }) };
}
