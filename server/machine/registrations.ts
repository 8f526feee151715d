import { RailheadError } from '../errors.ts';
import type { EventLog } from '../events/log.ts';
import type { HostSpec } from '../inventory/model.ts';
import {
  type AgentRow,
  endFirstBoots,
  findAgent,
  findAgentByCredential,
  insertAgent,
  revokeAgents,
  touchAgent,
} from '../store/agents.ts';
import { findHostRow, updateHostRow } from '../store/hosts.ts';
import type { Store } from '../store/store.ts';
import { idOf, shortId } from './attempts.ts';
import { AGENT_ALIVE_MS } from './host-record.ts';
import { initialState } from './host-state.ts';
import { holdBecause } from './requests.ts';

export interface RegistrationsOptions {
  store: Store;
  events: EventLog;
  now: () => number;
  /** A token that is made of these facts, and can be made of them again. */
  tokenOf: (...facts: string[]) => string;
}

/** With what a machine asks to be registered. */
export interface RegisterRequest {
  host: HostSpec;
  /** The attempt it belongs to, by its id. */
  attempt: string;
  /** The token it came with: an attempt's, or the one that its installer wrote to disk. */
  credential: string;
  /** Made on the machine, once: it tells a repeated request from another machine's. */
  nonce: string;
  address: string;
  /** What it says of the partition that outlives its boots: `kept`, `empty` or `none`. */
  data?: string | undefined;
  /** A new beginning was ordered for this boot. */
  wipe: boolean;
}

/** Machines that have exchanged the token of their boot for one of their own: once per boot, whoever asks. */
export class Registrations {
  readonly #options: RegistrationsOptions;

  constructor(options: RegistrationsOptions) {
    this.#options = options;
  }

  /** The machine's own token. The same request again gets the same answer: replies get lost. */
  async register(request: RegisterRequest): Promise<string> {
    const { events, now: clock, tokenOf } = this.#options;
    const { host, attempt, address } = request;
    await this.#assertStillMember(request);
    const [credential, nonce] = [idOf(request.credential), idOf(request.nonce)];
    const token = tokenOf(request.credential, request.nonce);
    let known: AgentRow | undefined;
    await events.transact(async (db) => {
      const now = clock();
      known = await findAgentByCredential(db, credential);
      if (known === undefined) {
        await revokeAgents(db, host.name, now);
        await insertAgent(db, {
          token: idOf(token),
          host: host.name,
          attempt,
          credential,
          nonce,
          registered_at: now,
          last_seen: now,
          revoked_at: null,
        });
        return [{ kind: 'agent.registered', host: host.name, attempt: shortId(attempt), data: { address } }];
      }
      if (known.nonce === nonce) return [];
      // Two machines have one boot's token, and nothing tells which of them is the host.
      const reason = `two machines have registered with the token of one boot; the second from ${address}`;
      await revokeAgents(db, host.name, now);
      await endFirstBoots(db, host.name, now);
      await updateHostRow(db, host.name, holdBecause(reason, now), { state: initialState(host), now });
      return [{ kind: 'agent.alarm', host: host.name, attempt: shortId(attempt), data: { address, reason } }];
    });
    if (known === undefined || (known.nonce === nonce && known.revoked_at === null)) return token;
    // A code of its own: other refusals a person can lift, but this one only a new boot.
    throw new RailheadError('RH_REGISTERED_ALREADY', 'This boot has registered already.', {
      hint: `Find out which machine is ${host.name}; then \`railhead release ${host.name}\` and boot it anew.`,
    });
  }

  /** A member that has lost what makes it one would join as a stranger under its old name: a person decides. */
  async #assertStillMember({ host, attempt, data, wipe }: RegisterRequest): Promise<void> {
    const { store, events, now } = this.#options;
    const row = await findHostRow(store.db, host.name);
    const isLost = data === 'empty' || (data === 'none' && host.role === 'control-plane');
    if (!row?.joined_at || wipe || host.os.install !== 'ram' || !isLost) return;
    const reason = 'it is a member of its cluster, but what it kept on its data partition is gone';
    await events.transact(async (db) => {
      await updateHostRow(db, host.name, holdBecause(reason, now()), {
        state: initialState(host),
        now: now(),
      });
      return [{ kind: 'boot.held', host: host.name, attempt: shortId(attempt), data: { reason } }];
    });
    throw new RailheadError('RH_HOST_HELD', `${host.name} is held: ${reason}.`, {
      hint: `Remove it from its cluster, then \`railhead reinstall ${host.name}\` and \`railhead release ${host.name}\`.`,
    });
  }

  /** Whose token this is; `undefined` for one that was revoked or never given out. */
  async find(token: string): Promise<{ host: string; attempt: string } | undefined> {
    const { store, now: clock } = this.#options;
    const row = await findAgent(store.db, idOf(token));
    if (row === undefined || row.revoked_at !== null) return undefined;
    const now = clock();
    // Every request proves that it lives; one write in a while is enough to say so.
    if (now - row.last_seen > AGENT_ALIVE_MS / 10) await touchAgent(store.db, row.token, now);
    return { host: row.host, attempt: row.attempt };
  }
}
