import { RailheadError, toRailheadError } from '../errors.ts';
import type { EventLog } from '../events/log.ts';
import { isJunkSerial, isJunkUuid } from '../inventory/junk-identity.ts';
import type { HostSpec } from '../inventory/model.ts';
import { normaliseUuid } from '../inventory/uuid.ts';
import { updateMachine } from '../store/machines.ts';
import type { Store } from '../store/store.ts';
import type { AdmitPolicy, Asker } from './admit.ts';
import type { Attempts, StageDetails } from './attempts.ts';
import { Candidates } from './candidates.ts';
import { type BootCredential, type Credential, Credentials, type CredentialsOptions } from './credentials.ts';
import type { Hardware } from './decide-registration.ts';
import { FirstBoots } from './first-boots.ts';
import { Gate } from './gate.ts';
import type { Liveness } from './liveness.ts';
import { type Registered, Registrations } from './registrations.ts';
import { factsOf, type Stage } from './stages.ts';

export interface MachineServiceOptions {
  store: Store;
  events: EventLog;
  now: () => number;
  attempts: Attempts;
  attemptOf: CredentialsOptions['attemptOf'];
  hostOf: (name: string) => HostSpec | undefined;
  /** A token that is made of these facts, and can be made of them again. */
  tokenOf: (purpose: string, ...facts: string[]) => string;
  policy: AdmitPolicy;
  newHosts: 'accept' | 'ask';
  liveness: Liveness;
  askerOf: (address: string) => Asker;
  isNews: (source: string, what: string) => boolean;
}

/** What a machine says when it registers. */
export interface RegisterBody {
  secret: string;
  bootId: string;
  hardware?: { uuid?: string | undefined; serial?: string | undefined } | undefined;
  partition?: { host: string; generation: number } | undefined;
}

export interface Heartbeat {
  bootId?: string | undefined;
  versions?: Readonly<Record<string, string>> | undefined;
  rebooting?: boolean | undefined;
}

/** The conversation with machines: they register, report how far they are, and say that they live. */
export class MachineService {
  readonly credentials: Credentials;
  readonly gate: Gate;
  readonly registrations: Registrations;
  readonly firstBoots: FirstBoots;
  readonly candidates: Candidates;
  readonly #options: MachineServiceOptions;

  constructor(options: MachineServiceOptions) {
    const { store, events, now, attempts, attemptOf, hostOf, tokenOf, newHosts, liveness } = options;
    this.#options = options;
    this.candidates = new Candidates(now);
    this.firstBoots = new FirstBoots({ store, now, tokenOf: (...facts) => tokenOf('first-boot', ...facts) });
    this.registrations = new Registrations({
      store,
      events,
      now,
      tokenOf: (...facts) => tokenOf('agent', ...facts),
      hostOf,
      newHosts,
      liveness,
      candidates: this.candidates,
    });
    this.credentials = new Credentials({
      attempts,
      attemptOf,
      firstBoots: this.firstBoots,
      registrations: this.registrations,
      hostOf,
    });
    this.gate = new Gate({ ...options, idleMs: (attempt) => attempts.idleMs(attempt) });
  }

  /** Where a machine asks from, and whether that is a NIC of the host, as far as can be seen. */
  asker({ macs }: HostSpec, address: string): { address: string; isOwnNic: boolean } {
    const { isAttached, mac } = this.#options.askerOf(address);
    return { address, isOwnNic: isAttached && mac !== undefined && macs.includes(mac) };
  }

  get intervalSeconds(): number {
    return this.#options.liveness.intervalSeconds;
  }

  /** With the token of its boot, if it has one: a known secret is enough. */
  async register(token: string | undefined, body: RegisterBody, address: string): Promise<Registered> {
    const found =
      token === undefined ? undefined : await this.credentials.find(token, ['attempt', 'first-boot']);
    let refusal: RailheadError | undefined;
    if (found !== undefined) {
      await this.gate.pass(found, address, 'registration', { whileHeld: true }).catch((error: unknown) => {
        refusal = toRailheadError(error);
      });
    }
    const boot = found === undefined || refusal !== undefined ? undefined : bootOf(found);
    try {
      return await this.registrations.register({
        boot,
        secret: body.secret,
        bootId: body.bootId,
        address,
        nic: this.#options.askerOf(address).mac,
        hardware: hardwareOf(body.hardware ?? {}),
        partition: body.partition,
      });
    } catch (error) {
      const { code } = toRailheadError(error);
      throw code === 'RH_UNAUTHENTICATED' && refusal !== undefined ? refusal : error;
    }
  }

  /** How far a boot is. What ends a token, or what a boot was made for, has to be proved. */
  async report(
    credential: Credential,
    stage: Stage,
    { message, secure, address }: StageDetails & { secure: boolean; address: string },
  ): Promise<void> {
    await this.#assertProved(credential, stage, { secure, address });
    if (credential.attempt === undefined) return;
    await this.#options.attempts.reach(credential.attempt.id, credential.host, stage, { message });
  }

  /** That it lives was noted when its token was found. */
  async heartbeat({ machine }: Extract<Credential, { kind: 'agent' }>, beat: Heartbeat): Promise<void> {
    const { store, now } = this.#options;
    const { rebooting = false, versions } = beat;
    const text = versions === undefined ? machine.versions : JSON.stringify(versions);
    if (text === machine.versions && rebooting === machine.isRebooting) return;
    // A machine that speaks after its announcement did not go down.
    const changes = { versions: text, rebooting_at: rebooting ? now() : null };
    await updateMachine(store.db, machine.id, changes);
  }

  /** An operator decides: this candidate is the host. */
  async trust(host: HostSpec, candidate: string): Promise<{ name: string; generation: number }> {
    const { generation } = await this.registrations.trust(host, candidate);
    return { name: host.name, generation };
  }

  /** An operator decides: the machine that the host has stays, and no candidate of now raises an alarm again. */
  async keep(host: HostSpec): Promise<{ name: string; dismissed: number }> {
    let dismissed = 0;
    await this.#options.events.transact(async (db) => {
      dismissed = await this.candidates.dismiss(db, host.name);
      if (dismissed === 0) return [];
      return [{ kind: 'host.candidates-dismissed', host: host.name, data: { candidates: dismissed } }];
    });
    return { name: host.name, dismissed };
  }

  async #assertProved(
    credential: Credential,
    stage: Stage,
    { secure, address }: { secure: boolean; address: string },
  ): Promise<void> {
    const { proof } = factsOf(stage);
    const what = `report of ${stage}`;
    if (stage === 'failed' && credential.kind === 'attempt' && credential.attempt.isPastGate && !secure) {
      // Everybody on the link has heard this token; what is past the gate has TLS.
      throw new RailheadError('RH_TOKEN_REFUSED', 'The stage failed has to be reported over HTTPS by now.');
    }
    this.gate.assertFresh(credential, address, what);
    if (proof === undefined || credential.kind === 'agent') return;
    if (proof === 'tls' && secure) return this.gate.pass(credential, address, what, { whileHeld: true });
    const how = proof === 'tls' ? 'over HTTPS' : 'with the token that the host got when it registered';
    throw new RailheadError('RH_TOKEN_REFUSED', `The stage ${stage} has to be reported ${how}.`);
  }
}

function bootOf({ host, attempt }: BootCredential): { host: HostSpec; attempt: string } {
  return { host, attempt: attempt.id };
}

/** What vendors forgot to fill in identifies nobody. */
function hardwareOf({ uuid, serial }: NonNullable<RegisterBody['hardware']>): Hardware {
  const ownUuid = uuid === undefined ? undefined : normaliseUuid(uuid);
  const ownSerial = serial?.trim();
  return {
    uuid: ownUuid === undefined || isJunkUuid(ownUuid) ? undefined : ownUuid,
    serial: ownSerial === undefined || ownSerial === '' || isJunkSerial(ownSerial) ? undefined : ownSerial,
  };
}
