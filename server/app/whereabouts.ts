import { hostname } from 'node:os';
import { type Advertised, chooseAdvertised } from '../net/advertise.ts';
import { defaultInterface, localAddresses } from '../net/interfaces.ts';
import type { Settings } from '../settings.ts';

export type Protocol = 'http' | 'https' | 'tftp';

/** Where machines and people find this server. Known in full only when it listens. */
export class Whereabouts {
  /** What was asked for, until it is known what it became: requests come in before the last of them listens. */
  readonly ports: Record<Protocol, number>;
  readonly #settings: Settings;
  readonly #closed = new Set<Protocol>(['http', 'https', 'tftp']);
  #advertised: Advertised | undefined;

  constructor(settings: Settings) {
    this.#settings = settings;
    this.ports = { http: settings.httpPort, https: settings.httpsPort, tftp: settings.tftpPort };
  }

  /** Chooses the address that machines are told, once the port is known. */
  choose(httpPort: number, hosts: readonly string[]): Advertised {
    const { advertise: wanted, bind } = this.#settings;
    this.listensOn('http', httpPort);
    this.#advertised = chooseAdvertised({
      wanted,
      httpPort,
      bind,
      local: localAddresses(),
      hosts,
      defaultInterface: defaultInterface(),
    });
    return this.#advertised;
  }

  listensOn(protocol: Protocol, port: number): void {
    this.ports[protocol] = port;
    this.#closed.delete(protocol);
  }

  /** Those that don't listen yet. */
  get closed(): readonly Protocol[] {
    return [...this.#closed];
  }

  get advertised(): Advertised {
    return this.#advertised!;
  }

  get url(): string {
    return this.#advertised?.url ?? '';
  }

  /** Where machines find what carries secrets. */
  get httpsUrl(): string {
    return `https://${inUrl(this.advertised.address)}:${this.ports.https}`;
  }

  /** Where a client on the same machine reaches it. */
  get localUrl(): string {
    const { bind } = this.#settings;
    const address = bind === '0.0.0.0' || bind === '::' ? '127.0.0.1' : inUrl(bind);
    return `http://${address}:${this.ports.http}`;
  }

  /** Every name and address that it answers to. */
  names(): string[] {
    const advertised = this.#advertised === undefined ? [] : [this.#advertised.address];
    return [
      ...new Set(['localhost', hostname(), ...localAddresses().map(({ address }) => address), ...advertised]),
    ];
  }
}

function inUrl(address: string): string {
  return address.includes(':') ? `[${address}]` : address;
}
