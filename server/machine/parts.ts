import type { EventLog } from '../events/log.ts';
import type { HostSpec } from '../inventory/model.ts';
import type { Store } from '../store/store.ts';
import type { AdmitPolicy, Asker } from './admit.ts';
import type { Attempts } from './attempts.ts';
import { Credentials, type CredentialsOptions } from './credentials.ts';
import { FirstBoots } from './first-boots.ts';
import { Gate } from './gate.ts';
import { Registrations } from './registrations.ts';

/** Tokens that machines show, who may use them, and what they are exchanged for. */
export interface AgentParts {
  credentials: Credentials;
  gate: Gate;
  registrations: Registrations;
  firstBoots: FirstBoots;
}

export interface AgentPartsOptions {
  store: Store;
  events: EventLog;
  now: () => number;
  attempts: Attempts;
  attemptOf: CredentialsOptions['attemptOf'];
  hostOf: (name: string) => HostSpec | undefined;
  /** A token that is made of these facts, and can be made of them again. */
  tokenOf: (purpose: string, ...facts: string[]) => string;
  policy: AdmitPolicy;
  askerOf: (address: string) => Asker;
  isNews: (source: string, what: string) => boolean;
}

export function createAgentParts(options: AgentPartsOptions): AgentParts {
  const { store, events, now, attempts, attemptOf, hostOf, tokenOf } = options;
  const firstBoots = new FirstBoots({ store, now, tokenOf: (...facts) => tokenOf('first-boot', ...facts) });
  const registrations = new Registrations({
    store,
    events,
    now,
    tokenOf: (...facts) => tokenOf('agent', ...facts),
  });
  const credentials = new Credentials({ attempts, attemptOf, firstBoots, registrations, hostOf });
  return { credentials, firstBoots, registrations, gate: new Gate(options) };
}
