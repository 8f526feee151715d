import { normaliseIp } from '../net/cidr.ts';
import { isJunkSerial, isJunkUuid } from './junk-identity.ts';
import type { HostSpec, Inventory } from './model.ts';
import { uuidKey } from './uuid.ts';

/** An inventory with its look-ups. Built piece by piece, so that thousands of hosts never hold the process up. */
export class InventoryIndex {
  readonly inventory: Inventory;
  readonly #byName = new Map<string, HostSpec>();
  readonly #byMac = new Map<string, HostSpec>();
  readonly #byUuid = new Identities();
  readonly #bySerial = new Identities();
  readonly #byIp = new Map<string, HostSpec>();

  constructor(inventory: Inventory) {
    this.inventory = { ...inventory, hosts: [] };
    this.addHosts(inventory.hosts);
  }

  addHosts(hosts: readonly HostSpec[]): void {
    for (const host of hosts) {
      this.inventory.hosts.push(host);
      this.#byName.set(host.name, host);
      for (const mac of host.macs) this.#byMac.set(mac, host);
      if (host.uuid !== undefined && !isJunkUuid(host.uuid)) this.#byUuid.add(uuidKey(host.uuid), host);
      if (host.serial !== undefined && !isJunkSerial(host.serial)) this.#bySerial.add(host.serial, host);
      if (host.ip !== undefined) this.#byIp.set(host.ip, host);
    }
  }

  host(name: string): HostSpec | undefined {
    return this.#byName.get(name);
  }

  /** `mac` and `uuid` in the spelling of `normaliseMac` and `normaliseUuid`; a UUID in either byte order. */
  hostByMac(mac: string): HostSpec | undefined {
    return this.#byMac.get(mac);
  }

  hostByUuid(uuid: string): HostSpec | undefined {
    return this.#byUuid.get(uuidKey(uuid));
  }

  hostByIp(ip: string): HostSpec | undefined {
    // A socket for both families shows IPv4 addresses as ::ffff:10.0.0.5.
    return this.#byIp.get(normaliseIp(ip.replace(/^::ffff:(?=\d+\.)/, '')) ?? ip);
  }

  hostBySerial(serial: string): HostSpec | undefined {
    return this.#bySerial.get(serial);
  }
}

/** What names one host; a number that two of them have names neither. */
class Identities {
  readonly #hosts = new Map<string, HostSpec | 'repeated'>();

  add(key: string, host: HostSpec): void {
    this.#hosts.set(key, this.#hosts.has(key) ? 'repeated' : host);
  }

  get(key: string): HostSpec | undefined {
    const found = this.#hosts.get(key);
    return found === 'repeated' ? undefined : found;
  }
}
