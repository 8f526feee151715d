import { createHash } from 'node:crypto';
import { RailheadError } from '../errors.ts';
import type { EventLog } from '../events/log.ts';
import type { HostSpec } from '../inventory/model.ts';
import {
  type FrozenConfigRow,
  findFrozenConfig,
  insertFrozenConfig,
  pruneFrozenConfigs,
} from '../store/frozen-configs.ts';
import type { Store } from '../store/store.ts';

/** What a machine is to be made into: a system, or something that installs one. */
export type Purpose = 'system' | 'installer';

export interface ConfigRequest {
  host: HostSpec;
  purpose: Purpose;
  /** What it shows to be registered. */
  token: string;
  /** Empty what outlives its boots: a person has ordered it. */
  wipe: boolean;
}

/** Either it can be made, or this is why not. */
export type RenderedConfig = { bytes: Buffer } | { problems: string[] };

export interface DeliveryOptions {
  store: Store;
  events: EventLog;
  now: () => number;
  seal: (content: Buffer, context: string) => Buffer;
  unseal: (sealed: Buffer, context: string) => Buffer;
  render: (request: ConfigRequest) => Promise<RenderedConfig>;
  isNews: (source: string, what: string) => boolean;
}

/** A boot that is under way, and what it is for. */
export interface DeliveryRequest extends ConfigRequest {
  /** The id of its attempt. */
  attempt: string;
}

/**
 * Hands out configurations. What a boot was promised by its pointer's hash is kept, sealed, until the boot is over:
 * an edit of the inventory or a crash in between changes not a byte of it.
 */
export class ConfigDelivery {
  readonly #options: DeliveryOptions;

  constructor(options: DeliveryOptions) {
    this.#options = options;
  }

  /** Settles what this boot gets; its hash, or `undefined` when that can't be made now. */
  async freeze(request: DeliveryRequest): Promise<string | undefined> {
    return (await this.#frozen(request))?.hash;
  }

  /** The bytes of this boot's configuration; what was frozen, or what could be made by now. */
  async frozen(request: DeliveryRequest): Promise<Buffer> {
    const row = await this.#frozen(request);
    if (row === undefined) throw unavailable(request.host);
    return this.#options.unseal(row.sealed, contextOf(row));
  }

  /** A configuration as it is now, for one that nothing was promised about. */
  async current(request: ConfigRequest): Promise<Buffer> {
    const rendered = await this.#render(request);
    if (rendered === undefined) throw unavailable(request.host);
    return rendered;
  }

  async #frozen(request: DeliveryRequest): Promise<FrozenConfigRow | undefined> {
    const { store, events, now, seal } = this.#options;
    const { host, attempt } = request;
    const known = await findFrozenConfig(store.db, attempt);
    if (known !== undefined) return known;
    const content = await this.#render(request);
    if (content === undefined) return undefined;
    const hash = `sha512-${createHash('sha512').update(content).digest('hex')}`;
    const row = { attempt, host: host.name, hash, created_at: now() };
    await events.transact(async (db) => {
      await pruneFrozenConfigs(db, host.name);
      await insertFrozenConfig(db, { ...row, sealed: seal(content, contextOf(row)) });
      return [];
    });
    // Two requests at once may have made two: the first one that was kept counts.
    return findFrozenConfig(store.db, attempt);
  }

  async #render(request: ConfigRequest): Promise<Buffer | undefined> {
    const rendered = await this.#options.render(request);
    if ('bytes' in rendered) return rendered.bytes;
    const { problems } = rendered;
    const { host } = request;
    if (this.#options.isNews(host.name, problems.join('\n'))) {
      await this.#options.events.append({ kind: 'ignition.failed', host: host.name, data: { problems } });
    }
    return undefined;
  }
}

function contextOf({ attempt, host }: { attempt: string; host: string }): string {
  return `configuration of ${host} ${attempt}`;
}

function unavailable(host: HostSpec): RailheadError {
  return new RailheadError('RH_CONFIG_UNAVAILABLE', `The configuration of ${host.name} can't be made now.`, {
    hint: `\`npx railhead render ${host.name}\` says why; the machine asks again by itself.`,
  });
}
