import { randomBytes, randomUUID } from 'node:crypto';
import { factsOf } from '../machine/stages.ts';
import { findMenu } from './firmware.ts';
import type { Install, SimulatedHost } from './hosts.ts';
import { configUrlOf, MenuFault, type MenuOrder, type ReadMenu, tokenOf } from './menu.ts';
import { type HttpRequest, Network, type TrafficWitness } from './network.ts';
import { Pace } from './pace.ts';
import { matchesHash, PointerFault, readPointer } from './pointer.ts';
import { type ReportedStage, stagesFor } from './stages.ts';
import type { TftpServerAddress } from './tftp-client.ts';
import { BootOver, Fault, persist, Trouble } from './trouble.ts';

/** Told what a machine does. */
export interface MachineWitness extends TrafficWitness {
  /** What it is at: its own steps, then the stages that it has reported. */
  phase(phase: string): void;
  retried(reason: string): void;
  missing(file: string): void;
}

export interface MachineOptions {
  host: SimulatedHost;
  install: Install;
  tftp: TftpServerAddress;
  /** An address of its own, where there are some. */
  localAddress?: string | undefined;
  speed: number;
  /** How likely a datagram is lost. */
  loss: number;
  /** Its own, so that what it meets does not depend on the others. */
  random: () => number;
  signal: AbortSignal;
  witness: MachineWitness;
}

export type Outcome =
  /** It has reported its last stage. */
  | { result: 'reached'; stage: string }
  /** It was installed before, and boots from its disk. */
  | { result: 'local' }
  | { result: 'failed'; reason: string }
  | { result: 'stopped' };

/** From the button to the first request. */
const POWER_ON_SECONDS = 8;
/** What menus tell boot loaders to wait before they try again. */
const LOADER_RETRY_SECONDS = 10;
/** Between two tries of Ignition and of the agent. */
const AGENT_RETRY_SECONDS = 2;
/** A person would have looked by then. */
const MAX_BOOTS = 10;
/** The server's waits are real ones, however fast a simulation is: all of them together may take this long. */
const MAX_WAIT_MS = 180_000;

/** One machine, from power-on to its last stage. Never rejects. */
export async function runMachine(options: MachineOptions): Promise<Outcome> {
  try {
    return await new Machine(options).live();
  } catch (error) {
    if (options.signal.aborted) return { result: 'stopped' };
    if (error instanceof Fault || error instanceof MenuFault || error instanceof PointerFault) {
      return { result: 'failed', reason: error.message };
    }
    return { result: 'failed', reason: `a bug in the simulation: ${(error as Error).stack ?? error}` };
  }
}

class Machine {
  readonly #options: MachineOptions;
  readonly #network: Network;
  readonly #pace: Pace;
  readonly #secret = randomBytes(32).toString('hex');
  /** What its installer wrote to its disk: where the system there gets its configuration. */
  #stub: string | undefined;

  constructor(options: MachineOptions) {
    const { loss, random, speed, signal, tftp, localAddress, witness } = options;
    this.#options = options;
    this.#pace = new Pace({ speed, random, signal });
    this.#network = new Network({
      tftp,
      localAddress,
      signal,
      witness,
      isLost: () => loss > 0 && random() < loss,
    });
  }

  async live(): Promise<Outcome> {
    let reason = '';
    const patience = performance.now() + MAX_WAIT_MS;
    for (let boots = 0; boots < MAX_BOOTS; ) {
      try {
        const outcome = await this.#boot();
        if (outcome === 'waited' && performance.now() < patience) continue;
        boots++;
        if (typeof outcome === 'object') return outcome;
      } catch (error) {
        if (!(error instanceof BootOver)) throw error;
        boots++;
        reason = error.message;
        this.#options.witness.retried(reason);
        await this.#pace.pauseBeforeRetry(LOADER_RETRY_SECONDS);
      }
    }
    throw new Fault(`it was started ${MAX_BOOTS} times${reason === '' ? '' : `: ${reason}`}`);
  }

  /** Or that it reboots: after what it has done, or because it was told to wait. */
  async #boot(): Promise<Outcome | 'installed' | 'waited'> {
    const { install, witness } = this.#options;
    witness.phase('firmware');
    await this.#pace.pause(POWER_ON_SECONDS);
    const { title, order } = await this.#menu();
    switch (order.do) {
      case 'local':
        if (install === 'ram') throw new Fault(`it is told to boot its own disk: ${title}`);
        return this.#bootFromDisk();
      case 'reboot':
        witness.phase('waiting');
        await this.#pace.pauseBeforeRetry(order.afterSeconds);
        return 'waited';
      case 'chain':
        throw new Fault('a script leads nowhere');
      case 'boot': {
        const boot = await this.#load(order);
        boot.secure = await this.#ignite(boot.configUrl);
        const last = await this.#report(boot, stagesFor(install).first);
        return install === 'ram' ? { result: 'reached', stage: last } : 'installed';
      }
    }
  }

  #menu(): Promise<ReadMenu> {
    const { host, witness } = this.#options;
    return findMenu({
      host,
      network: this.#network,
      pace: this.#pace,
      onPhase: (phase) => witness.phase(phase),
      onMissing: (file) => witness.missing(file),
      onRetry: (reason) => witness.retried(reason),
    });
  }

  async #load(order: Extract<MenuOrder, { do: 'boot' }>): Promise<Boot & { configUrl: string }> {
    const { witness } = this.#options;
    const configUrl = configUrlOf(order.arguments);
    const token = configUrl === undefined ? undefined : tokenOf(configUrl);
    if (configUrl === undefined || token === undefined) throw new Fault('its menu names no Ignition config');
    witness.phase('kernel-sent');
    await this.#loadFile(order.kernelUrl);
    witness.phase('initrd-sent');
    for (const url of order.initrdUrls) await this.#loadFile(url);
    const plain = { origin: new URL(configUrl).origin, headers: { authorization: `Bearer ${token}` } };
    return { configUrl, plain, id: randomUUID(), reports: 0 };
  }

  /** pxelinux tries its label again and again; iPXE's script reboots. */
  #loadFile(url: string): Promise<void> {
    if (this.#options.host.firmware === 'bios') {
      return this.#persist(
        'loading its image',
        () => this.#network.httpFile(url, { asSyslinux: true }),
        LOADER_RETRY_SECONDS,
      );
    }
    return this.#network.httpFile(url).catch((error: Error) => {
      throw error instanceof Trouble ? new BootOver(error.message) : error;
    });
  }

  /** As Ignition does: the pointer, then what it points to. Returns where that was. */
  async #ignite(url: string): Promise<Secure> {
    this.#options.witness.phase('pointer-sent');
    return this.#follow((await this.#fetch(url)).toString('utf8'));
  }

  async #follow(text: string): Promise<Secure> {
    const pointer = readPointer(text);
    if (pointer === undefined) throw new Fault('its configuration points to nothing');
    this.#options.witness.phase('config-sent');
    const { authorities, headers, hash } = pointer;
    const config = await this.#fetch(pointer.url, { authorities, headers });
    if (hash !== undefined && !matchesHash(config, hash)) {
      throw new Fault("the hash of the Ignition config is not the pointer's");
    }
    readPointer(config.toString('utf8'));
    return { origin: new URL(pointer.url).origin, authorities, headers };
  }

  #fetch(url: string, request: HttpRequest = {}): Promise<Buffer> {
    return this.#persist('Ignition', () => this.#network.httpText(url, request), AGENT_RETRY_SECONDS);
  }

  async #bootFromDisk(): Promise<Outcome> {
    if (this.#stub === undefined) return { result: 'local' };
    const secure = await this.#follow(this.#stub);
    const last = await this.#report({ secure, id: randomUUID(), reports: 0 }, stagesFor('disk').fromDisk);
    return { result: 'reached', stage: last };
  }

  /** Phones home. Returns the last stage. */
  async #report(boot: Boot, stages: readonly ReportedStage[]): Promise<string> {
    const { witness } = this.#options;
    let last = '';
    for (const { stage, seconds } of stages) {
      await this.#pace.pause(seconds);
      if (stage === 'installed') this.#stub = await this.#tell(boot, 'first-boot');
      const body = JSON.stringify({
        stage,
        bootId: boot.id,
        seq: boot.reports++,
        at: new Date().toISOString(),
      });
      const { proof } = factsOf(stage);
      if (proof === 'agent') boot.own ??= await this.#register(boot);
      await this.#tell(boot, 'stage', body, proof);
      witness.phase(stage);
      last = stage;
    }
    return last;
  }

  /** With the secret that it keeps, as on a disk. */
  async #register(boot: Boot): Promise<string> {
    const body = JSON.stringify({ secret: this.#secret, bootId: boot.id });
    const answer = await this.#tell(boot, 'register', body);
    return (JSON.parse(answer) as { token: string }).token;
  }

  /** Early stages go over plain HTTP, as an initrd without our CA would send them. */
  async #tell(boot: Boot, path: string, body?: string, proof?: 'tls' | 'agent'): Promise<string> {
    const { plain, secure, own } = boot;
    if (secure === undefined) throw new Fault('it has no configuration to report with');
    const isPlain = path === 'stage' && proof === undefined && plain !== undefined;
    const { origin, headers } = isPlain ? plain : secure;
    const request: HttpRequest = {
      method: 'POST',
      headers: own === undefined || isPlain ? headers : { authorization: `Bearer ${own}` },
      ...(body === undefined ? {} : { body }),
      ...(isPlain ? {} : { authorities: secure.authorities }),
    };
    const post = () => this.#network.httpText(`${origin}/agent/v1/${path}`, request);
    return (await this.#persist('phoning home', post, AGENT_RETRY_SECONDS)).toString('utf8');
  }

  #persist<T>(what: string, attempt: () => Promise<T>, seconds: number): Promise<T> {
    const onRetry = (reason: string): void => this.#options.witness.retried(reason);
    return persist(what, attempt, { pace: this.#pace, seconds, onRetry });
  }
}

/** Where a configuration came from, and what was shown for it. */
interface Secure {
  origin: string;
  authorities: string[];
  headers: Record<string, string>;
}

interface Boot {
  /** Of a boot from the network: its token is good over plain HTTP, too. */
  plain?: Pick<Secure, 'origin' | 'headers'>;
  secure?: Secure;
  /** The machine's own token. */
  own?: string;
  id: string;
  reports: number;
}
