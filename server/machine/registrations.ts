import { randomBytes } from 'node:crypto';
import { RailheadError } from '../errors.ts';
import type { NewEvent } from '../events/kinds.ts';
import type { EventLog } from '../events/log.ts';
import type { HostSpec } from '../inventory/model.ts';
import { insertAttempt, liveAttempts, updateAttempt } from '../store/attempts.ts';
import { updateHostRow } from '../store/hosts.ts';
import {
  findMachineBySecret,
  findMachineByToken,
  insertMachine,
  lastGeneration,
  liveMachine,
  type MachineRow,
  openWindow,
  revokeMachine,
  updateMachine,
  updateWindow,
} from '../store/machines.ts';
import type { Db, Store } from '../store/store.ts';
import { idOf, shortId } from './attempts.ts';
import type { Candidates } from './candidates.ts';
import { decideRegistration, type Hardware, type RegistrationDecision } from './decide-registration.ts';
import { initialState } from './host-state.ts';
import type { Liveness } from './liveness.ts';
import { currentWindow, startWindow } from './windows.ts';

export interface RegistrationsOptions {
  store: Store;
  events: EventLog;
  now: () => number;
  /** A token that is made of these facts, and can be made of them again. */
  tokenOf: (...facts: string[]) => string;
  hostOf: (name: string) => HostSpec | undefined;
  newHosts: 'accept' | 'ask';
  liveness: Liveness;
  candidates: Candidates;
}

/** With what a machine asks to be registered. */
export interface RegisterRequest {
  /** The boot that its token belongs to; a known machine that boots from its disk has none. */
  boot?: { host: HostSpec; attempt: string } | undefined;
  /** Made on the machine, once: what it is known by. */
  secret: string;
  bootId: string;
  address: string;
  nic?: string | undefined;
  hardware: Hardware;
  partition?: { host: string; generation: number } | undefined;
}

export interface Registered {
  host: string;
  generation: number;
  token: string;
}

/** A machine that has proved who it is, and the boot that it is in. */
export interface KnownMachine {
  id: number;
  host: string;
  attempt: string | undefined;
  /** It said that it goes down, and nothing since. */
  isRebooting: boolean;
  /** What it runs, as JSON. */
  versions: string;
}

/** Seconds after which a candidate asks again. */
export const CANDIDATE_SECONDS = 30;

/** Machines prove here which host they are. A report and its effects are one transaction. */
export class Registrations {
  readonly #options: RegistrationsOptions;

  constructor(options: RegistrationsOptions) {
    this.#options = options;
  }

  /** The same request again gets the same answer: replies get lost. Throws `RH_CANDIDATE` for one that has to wait. */
  async register(request: RegisterRequest): Promise<Registered> {
    const secret = idOf(request.secret);
    let result: Registered | undefined;
    let refused: { host: string; reason: string } | undefined;
    await this.#options.events.transact(async (db) => {
      const owner = await findMachineBySecret(db, secret);
      const host = request.boot?.host ?? this.#hostOfLive(owner);
      if (host === undefined) return [];
      const current = await liveMachine(db, host.name);
      const decision = await this.#decide(db, request, host, owner, current);
      if (decision.action === 'unauthenticated') return [];
      if (decision.action === 'candidate') {
        refused = { host: host.name, reason: decision.reason };
        const { address, nic, hardware } = request;
        return this.#options.candidates.note(db, {
          host: host.name,
          secret,
          address,
          nic,
          hardware,
          ...decision,
        });
      }
      const { machine, events } = await this.#accept(db, request, host, current, decision.action);
      result = { host: host.name, generation: machine.generation, token: this.#tokenOf(machine) };
      return events;
    });
    if (result !== undefined) return result;
    if (refused === undefined) {
      throw new RailheadError(
        'RH_UNAUTHENTICATED',
        'Unknown secret, and no token of a boot that is under way.',
      );
    }
    throw new RailheadError('RH_CANDIDATE', `Not registered as ${refused.host}: ${refused.reason}.`, {
      hint: `An operator can decide: \`railhead trust ${refused.host}\`.`,
      details: { waitingFor: refused.reason, retryAfter: CANDIDATE_SECONDS },
    });
  }

  /** Whose token this is. Every request proves that the machine lives. */
  async find(token: string): Promise<KnownMachine | undefined> {
    const { store, liveness, now } = this.#options;
    const machine = await findMachineByToken(store.db, idOf(token));
    if (machine === undefined) return undefined;
    if (liveness.heard(machine.id)) await updateMachine(store.db, machine.id, { last_seen: now() });
    return {
      id: machine.id,
      host: machine.host,
      attempt: machine.attempt ?? undefined,
      isRebooting: machine.rebooting_at !== null,
      versions: machine.versions,
    };
  }

  /** A candidate becomes the host: the next generation, with a window of its own. */
  async trust(host: HostSpec, candidate: string): Promise<{ generation: number }> {
    const { events, now: clock, candidates } = this.#options;
    let generation = 0;
    await events.transact(async (db) => {
      const now = clock();
      const { secret, uuid, serial, address } = await candidates.take(db, host.name, candidate);
      const owner = await findMachineBySecret(db, secret);
      const isLive = owner !== undefined && owner.revoked_at === null;
      if (isLive && owner.host !== host.name) {
        throw new RailheadError('RH_REQUEST_INVALID', `${candidate} has the secret of ${owner.host}.`, {
          hint: `\`railhead reinstall ${host.name}\` gives its machine a secret of its own.`,
        });
      }
      await candidates.clear(db, host.name);
      if (isLive) {
        // Its own secret on other hardware, such as a new mainboard: it stays what it is.
        await updateMachine(db, owner.id, { uuid, serial });
        generation = owner.generation;
        return [{ kind: 'host.trusted', host: host.name, data: { candidate, generation } }];
      }
      const row = { host: host.name, secret, uuid, serial, address, bootId: null, attempt: null };
      const machine = await this.#insert(db, row, now);
      generation = machine.generation;
      await startWindow(db, host.name, { reason: 'trust', machine: machine.id, now });
      await updateHostRow(
        db,
        host.name,
        { joined_at: null, reinstall_at: null },
        { state: initialState(host), now },
      );
      return [{ kind: 'host.trusted', host: host.name, data: { candidate, generation } }];
    });
    return { generation };
  }

  #hostOfLive(owner: MachineRow | undefined): HostSpec | undefined {
    return owner === undefined || owner.revoked_at !== null ? undefined : this.#options.hostOf(owner.host);
  }

  async #decide(
    db: Db,
    { boot, hardware, partition }: RegisterRequest,
    host: HostSpec,
    owner: MachineRow | undefined,
    current: MachineRow | undefined,
  ): Promise<RegistrationDecision> {
    const { now, liveness, newHosts } = this.#options;
    const window = await currentWindow(db, host.name, (at) => liveness.ageOf(at, now()));
    return decideRegistration({
      host,
      hasBootToken: boot !== undefined,
      hardware,
      partition,
      owner: owner && {
        host: owner.host,
        generation: owner.generation,
        isLive: owner.revoked_at === null,
        hardware: hardwareOf(owner),
      },
      current: current && {
        generation: current.generation,
        hardware: hardwareOf(current),
        silentMs: liveness.silentMs(current.id),
        isRebooting: current.rebooting_at !== null,
      },
      window: window && { reason: window.reason as never, isUsed: window.machine !== null },
      newHosts,
      silenceMs: liveness.silenceMs,
    });
  }

  async #accept(
    db: Db,
    request: RegisterRequest,
    host: HostSpec,
    current: MachineRow | undefined,
    action: 'known' | 'new-identity' | 'new-boot',
  ): Promise<{ machine: MachineRow; events: NewEvent[] }> {
    const { bootId, address, hardware } = request;
    const now = this.#options.now();
    const initial = { state: initialState(host), now };
    const isSameBoot = action === 'known' && current?.boot_id === bootId;
    const attempt = isSameBoot ? (current?.attempt ?? null) : await this.#bootOf(db, request, host, now);
    const secret = idOf(request.secret);
    let machine: MachineRow;
    if (action === 'new-identity' || current === undefined) {
      const { uuid = null, serial = null } = hardware;
      machine = await this.#insert(
        db,
        { host: host.name, secret, uuid, serial, address, bootId, attempt },
        now,
      );
      const window = await openWindow(db, host.name);
      if (window !== undefined) await updateWindow(db, window.id, { machine: machine.id });
      await updateHostRow(db, host.name, { joined_at: null, reinstall_at: null }, initial);
    } else {
      const changes = { boot_id: bootId, attempt, address, last_seen: now, rebooting_at: null };
      machine = { ...current, ...changes, secret };
      if (action === 'new-boot') {
        await updateMachine(db, current.id, {
          ...changes,
          secret,
          token: idOf(this.#tokenOf(machine)),
          booted_at: now,
        });
        await startWindow(db, host.name, { reason: 'boot', machine: current.id, now });
        await updateHostRow(db, host.name, { joined_at: null }, initial);
      } else if (!isSameBoot) {
        await updateMachine(db, current.id, { ...changes, booted_at: now });
      }
    }
    this.#options.liveness.heard(machine.id);
    if (isSameBoot) return { machine, events: [] };
    const data = { address, generation: machine.generation };
    const about = { host: host.name, ...(attempt === null ? {} : { attempt: shortId(attempt) }) };
    return { machine, events: [{ kind: 'agent.registered', ...about, data }] };
  }

  async #insert(
    db: Db,
    {
      bootId,
      ...row
    }: Pick<MachineRow, 'host' | 'secret' | 'uuid' | 'serial' | 'address' | 'attempt'> & {
      bootId: string | null;
    },
    now: number,
  ): Promise<MachineRow> {
    const generation = (await lastGeneration(db, row.host)) + 1;
    await revokeMachine(db, row.host, now);
    const fresh = {
      ...row,
      generation,
      boot_id: bootId,
      token: idOf(this.#tokenOf({ host: row.host, generation, secret: row.secret })),
      registered_at: now,
      booted_at: now,
      last_seen: now,
      rebooting_at: null,
      versions: '{}',
      revoked_at: null,
    };
    return { ...fresh, id: await insertMachine(db, fresh) };
  }

  /** The attempt that a machine registers in; it ends all others. A boot from its own disk becomes one here. */
  async #bootOf(db: Db, { boot, address }: RegisterRequest, host: HostSpec, now: number): Promise<string> {
    const attempt = boot?.attempt ?? (await insertLocalBoot(db, host.name, address, now));
    for (const other of await liveAttempts(db, host.name)) {
      if (other.token === attempt) continue;
      await updateAttempt(db, other.token, { closed_at: now, outcome: 'another boot has registered' });
    }
    return attempt;
  }

  #tokenOf({ host, generation, secret }: Pick<MachineRow, 'host' | 'generation' | 'secret'>): string {
    return this.#options.tokenOf(host, String(generation), secret);
  }
}

function hardwareOf({ uuid, serial }: MachineRow): Hardware {
  return { uuid: uuid ?? undefined, serial: serial ?? undefined };
}

/** Without a menu there was no offer; its stages are reported all the same. */
async function insertLocalBoot(db: Db, host: string, address: string, now: number): Promise<string> {
  const seed = randomBytes(16).toString('hex');
  const id = idOf(`local ${seed}`);
  await insertAttempt(db, {
    token: id,
    seed,
    host,
    action: 'local',
    offer: JSON.stringify({
      action: 'local',
      image: '',
      sizes: { kernel: 0, initrd: 0 },
      kernelArguments: [],
      wipe: false,
    }),
    created_at: now,
    offered_to: address,
    opened_at: now,
    opened_from: address,
    own_nic: 0,
    gate_at: now,
    stage: 'init',
    stage_at: now,
    seen: '["init"]',
    overdue_at: null,
    closed_at: null,
    outcome: null,
  });
  return id;
}
