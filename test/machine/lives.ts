import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Vault } from '../../server/access/vault.ts';
import { ClusterService } from '../../server/cluster/service.ts';
import { toRailheadError } from '../../server/errors.ts';
import { EventLog } from '../../server/events/log.ts';
import type { HostSpec } from '../../server/inventory/model.ts';
import { Liveness } from '../../server/machine/liveness.ts';
import { giveOrder, type Order } from '../../server/machine/requests.ts';
import { MachineService } from '../../server/machine/service.ts';
import { INITRD, imageOf, KERNEL } from '../../server/netboot/images.ts';
import { BootService } from '../../server/netboot/service.ts';
import type { Store } from '../../server/store/store.ts';
import { TemplateFolders, templateFolders } from '../../server/templating/template-folders.ts';
import { FakeApi } from '../cluster/service.ts';
import { ROOT } from '../support/appliance.ts';
import { indexOf } from '../support/hosts.ts';

const INDEX = indexOf(`
clusters: [{name: lab, kubernetes: 1.36.4, containerd: 2.1.5, endpoint: "10.0.0.1:6443"}]
profiles: [{name: ram, os: flatcar, version: 4593.2.5}]
pools:
  - {name: control, cluster: lab, role: control-plane, profile: ram}
  - {name: workers, cluster: lab, profile: ram}
  - {name: diskless, cluster: lab, profile: ram, identity: boot}
hosts:
  - {name: c1, pool: control, macs: ['52:54:00:00:00:01'], disk: {serial: D}}
  - {name: w1, pool: workers, macs: ['52:54:00:00:00:02'], disk: {serial: D}}
  - {name: d1, pool: diskless, macs: ['52:54:00:00:00:03']}
`);
export const HOSTS = INDEX.inventory.hosts.map(({ name }) => name);

/** A machine in a rack: what it has on its disk, and the boot that it is in. */
export interface PhysicalMachine {
  /** The host whose NIC it has, or pretends to have. */
  host: string;
  isImpostor: boolean;
  address: string;
  /** What its firmware says. */
  uuid: string;
  secret: string;
  bootId: string;
  bootToken?: string | undefined;
  /** Its own, since it has registered in this boot, and as what it has. */
  token?: string | undefined;
  registeredAs?: { host: string; secret: string } | undefined;
}

export type Registering = { host: string; generation: number } | 'candidate' | 'unauthenticated';

/** The services of an appliance on one store, with clocks that the test sets. They can be started again. */
export class Site {
  readonly #store: Store;
  readonly #assetsDir: string;
  readonly #vault = new Vault(Buffer.alloc(32, 5));
  wall = Date.UTC(2026, 0, 1);
  steady = 0;
  events!: EventLog;
  boot!: BootService;
  machines!: MachineService;
  clusters!: ClusterService;

  constructor(store: Store, assetsDir: string) {
    this.#store = store;
    this.#assetsDir = assetsDir;
  }

  static async on(store: Store, assetsDir: string): Promise<Site> {
    for (const host of INDEX.inventory.hosts) {
      const image = join(assetsDir, imageOf(host));
      await mkdir(image, { recursive: true });
      for (const file of [KERNEL, INITRD]) await writeFile(join(image, file), file);
    }
    const site = new Site(store, assetsDir);
    site.restart();
    return site;
  }

  /** As after kill -9: nothing in memory is left. */
  restart(): void {
    const store = this.#store;
    const now = () => this.wall;
    const clock = () => this.steady;
    this.events = new EventLog({ store, now, keepCount: 10_000, keepDays: 10_000 });
    const liveness = new Liveness({ clock, hosts: () => HOSTS.length });
    const inventory = () => INDEX;
    const templates = new TemplateFolders({
      now: Date.now,
      folders: templateFolders(join(ROOT, 'templates')),
    });
    const basics = { store, events: this.events, now, isNews: () => false };
    this.clusters = new ClusterService({
      ...basics,
      vault: this.#vault,
      inventory,
      templates,
      readSecret: () => 'found-secret',
      onFault: () => {},
      openApi: async () => new FakeApi(),
    });
    this.boot = new BootService({
      ...basics,
      inventory,
      assetsDir: this.#assetsDir,
      templates,
      baseUrl: () => 'http://10.0.0.5:8080',
      maxFailures: 1000,
      tokenOf: (seed) => this.#vault.token('attempt', seed),
      machineIdOf: () => 'a'.repeat(32),
      recordedSize: async () => undefined,
      currentVersion: async () => undefined,
      liveness,
      clock,
      isNewSighting: () => false,
      onJoined: (db, host) => this.clusters.finishJoin(db, host),
    });
    this.machines = new MachineService({
      ...basics,
      attempts: this.boot.attempts,
      attemptOf: (token) => this.boot.attemptOf(token),
      hostOf: (name) => INDEX.host(name),
      tokenOf: (purpose, ...facts) => this.#vault.token(purpose, ...facts),
      policy: {
        expiryMs: 3_600_000,
        checkMac: false,
        refuseOtherAddress: false,
        hostsWithoutMacs: 'accept',
      },
      newHosts: 'accept',
      liveness,
      askerOf: (address) => ({ address, isAttached: false }),
    });
  }

  hostOf(name: string): HostSpec {
    return INDEX.host(name)!;
  }

  /** From power-on to its configuration; without a token when it is told to wait or is held. */
  async powerOn(machine: PhysicalMachine): Promise<void> {
    const host = this.hostOf(machine.host);
    machine.bootId = randomBytes(8).toString('hex');
    machine.token = undefined;
    // What is in RAM is lost.
    if (host.identity === 'boot') machine.secret = newSecret();
    const { body } = await this.boot.menu('ipxe', { mac: host.macs[0], address: machine.address });
    machine.bootToken = /\/boot\/([\w-]{22})\//.exec(body)?.[1];
    const found = machine.bootToken === undefined ? undefined : await this.boot.attemptOf(machine.bootToken);
    if (found === undefined) return;
    const from = { address: machine.address, isOwnNic: !machine.isImpostor };
    await this.boot.attempts.open(found.attempt.id, host, from);
    await this.boot.reach(found.attempt.id, host, 'config-sent');
  }

  async register(machine: PhysicalMachine): Promise<Registering> {
    const { secret, bootId, bootToken, address, uuid } = machine;
    const body = { secret, bootId, hardware: { uuid } };
    try {
      const { host, token, generation } = await this.machines.register(bootToken, body, address);
      Object.assign(machine, { token, registeredAs: { host, secret } });
      return { host, generation };
    } catch (error) {
      const { code } = toRailheadError(error);
      if (code === 'RH_CANDIDATE') return 'candidate';
      if (code === 'RH_UNAUTHENTICATED' || code === 'RH_TOKEN_REFUSED') return 'unauthenticated';
      throw error;
    }
  }

  /** Whether it is given what only a machine that is being provisioned may have. */
  async asksForSecrets({ token }: PhysicalMachine): Promise<boolean> {
    const credential =
      token === undefined ? undefined : await this.machines.credentials.find(token, ['agent']);
    if (credential === undefined) return false;
    try {
      const { host, machine } = credential;
      const answer = await this.clusters.answer(host, { machine: machine.id, address: '10.0.0.9' });
      return answer.action !== 'none';
    } catch (error) {
      if (toRailheadError(error).code === 'RH_CLUSTER_WAITS') return false;
      throw error;
    }
  }

  /** Whether the token of its boot is good for registering. */
  async hasLiveBoot({ bootToken }: PhysicalMachine): Promise<boolean> {
    const found =
      bootToken === undefined ? undefined : await this.machines.credentials.find(bootToken, ['attempt']);
    return found !== undefined && this.boot.attempts.idleMs(found.attempt) < 3_600_000;
  }

  /** Whether its token is good for anything. */
  async isKnown({ token }: PhysicalMachine): Promise<boolean> {
    return token !== undefined && (await this.machines.credentials.find(token, ['agent'])) !== undefined;
  }

  async reportsJoined({ token }: PhysicalMachine): Promise<void> {
    const credential =
      token === undefined ? undefined : await this.machines.credentials.find(token, ['agent']);
    if (credential === undefined) return;
    await this.machines.report(credential, 'kubeadm-done', { secure: true, address: '10.0.0.9' });
  }

  async heartbeat({ token, bootId }: PhysicalMachine, rebooting: boolean): Promise<void> {
    const credential =
      token === undefined ? undefined : await this.machines.credentials.find(token, ['agent']);
    if (credential !== undefined) await this.machines.heartbeat(credential, { bootId, rebooting });
  }

  request(host: string, order: Order): Promise<void> {
    return giveOrder(this.events, this.hostOf(host), order, this.wall);
  }
}

export function newSecret(): string {
  return randomBytes(32).toString('hex');
}
