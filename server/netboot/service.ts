import { withoutControls } from '../document/printable.ts';
import { toRailheadError } from '../errors.ts';
import type { NewEvent } from '../events/kinds.ts';
import type { EventLog } from '../events/log.ts';
import type { InventoryIndex } from '../inventory/index.ts';
import type { HostSpec } from '../inventory/model.ts';
import {
  type Attempt,
  Attempts,
  type AttemptsOptions,
  type ImageSizes,
  type Offer,
  type StageDetails,
} from '../machine/attempts.ts';
import { Due } from '../machine/due.ts';
import { initialState } from '../machine/host-state.ts';
import { type Claim, type Identified, type Identity, identify } from '../machine/identify.ts';
import type { Liveness } from '../machine/liveness.ts';
import type { Stage } from '../machine/stages.ts';
import { updateHostRow } from '../store/hosts.ts';
import { recordSighting } from '../store/sightings.ts';
import type { Store } from '../store/store.ts';
import type { TemplateFolders } from '../templating/template-folders.ts';
import { type Decision, decide } from './decide.ts';
import { INITRD, imageOf, inspectImage } from './images.ts';
import { LoaderLoops } from './loader-loop.ts';
import { type MenuInput, type MenuKind, renderMenu } from './menus.ts';

export interface BootOptions {
  store: Store;
  events: EventLog;
  inventory: () => InventoryIndex;
  now: () => number;
  assetsDir: string;
  templates: TemplateFolders;
  /** `http://10.0.0.5:8080` */
  baseUrl: () => string;
  maxFailures: number;
  /** What the mirror knows of a file below the assets folder. */
  recordedSize: (name: string) => Promise<number | undefined>;
  /** What `current` stands for, for this host's channel and architecture. */
  currentVersion: (host: HostSpec) => Promise<string | undefined>;
  /** 32 hexadecimal digits, always the same for the same host. */
  machineIdOf: (host: string) => string;
  /** See `AttemptsOptions`. */
  tokenOf: (seed: string) => string;
  liveness: Liveness;
  clock: AttemptsOptions['clock'];
  onJoined: AttemptsOptions['onJoined'];
  /** Lets the first of equal messages through; see `Damper`. */
  isNews: (source: string, what: string) => boolean;
  /** The same for unknown machines, with a budget of its own: log lines of others must not hide them. */
  isNewSighting: (source: string, mac: string) => boolean;
}

export interface Menu {
  body: string;
  host?: string;
  decision: Decision['action'] | 'unknown' | 'ambiguous';
  why: string;
}

/** A decision, and the image that it is about. */
interface Considered {
  decision: Decision;
  image: string;
  sizes: ImageSizes;
  /** A new beginning was ordered. */
  wipe: boolean;
}

/** How often it is stored that a machine asked. */
const SEEN_EVERY_MS = 10_000;

const NO_SIZES: ImageSizes = { kernel: 0, initrd: 0 };

/** As long as a real one, and no real one has dots. */
const PREVIEW_TOKEN = '.'.repeat(22);

/** Answers machines that boot. TFTP and HTTP both ask here, so they can't disagree. */
export class BootService {
  readonly attempts: Attempts;
  readonly #options: BootOptions;
  readonly #loops: LoaderLoops;
  readonly #seen: Due;

  constructor(options: BootOptions) {
    this.#options = options;
    this.attempts = new Attempts(options);
    this.#loops = new LoaderLoops(options.now);
    this.#seen = new Due({ clock: options.clock, everyMs: SEEN_EVERY_MS });
  }

  /** What a machine gets. Asking changes nothing but when it was last seen: curl and strangers do no harm. */
  async menu(kind: MenuKind, claim: Claim & { vendor?: string | undefined }): Promise<Menu> {
    if (claim.address !== undefined) this.#loops.gotMenu(claim.address);
    const identified = identify(this.#options.inventory(), claim);
    switch (identified.kind) {
      case 'host':
        return this.#menuOfHost(kind, identified.host, identified.identity);
      case 'ambiguous':
        return this.#menuOfAmbiguous(kind, identified);
      case 'unknown':
        return this.#menuOfStranger(kind, identified.identity, claim.vendor && withoutControls(claim.vendor));
    }
  }

  identify(claim: Claim): Identified {
    return identify(this.#options.inventory(), claim);
  }

  /** What a host would get now, without being offered it. */
  async decide(host: HostSpec): Promise<Decision> {
    return (await this.#consider(host)).decision;
  }

  /** The menu that a host would get, for people: with a token that opens nothing. */
  async preview(kind: MenuKind, host: HostSpec): Promise<string> {
    const considered = await this.#consider(host);
    const { decision } = considered;
    const what = await this.#whatFor(considered, host, {}, async () => PREVIEW_TOKEN);
    return this.#render(kind, host, { title: `${host.name}: ${decision.why}`, what });
  }

  /**
   * The attempt of a token and its host; `undefined` when it is over, or its host is no longer in the inventory. An
   * offer that nobody has opened is good only as long as it would be made again: menus are for everybody, and one that
   * was kept must not end what the host has become since.
   */
  async attemptOf(token: string): Promise<{ attempt: Attempt; host: HostSpec } | undefined> {
    const attempt = await this.attempts.find(token);
    const host = attempt === undefined ? undefined : this.#options.inventory().host(attempt.host);
    if (attempt === undefined || host === undefined) return undefined;
    if (!attempt.isOpen && (await this.decide(host)).action !== attempt.offer.action) return undefined;
    return { attempt, host };
  }

  reach(id: string, host: HostSpec, stage: Stage, details?: StageDetails): Promise<void> {
    return this.attempts.reach(id, host, stage, details);
  }

  /** A boot loader went to this address. */
  noteLoader(address: string, file: string): void {
    const loop = this.#loops.sent(address, file);
    const host = this.#options.inventory().hostByIp(address)?.name;
    if (loop !== undefined)
      this.#tell(address, `loop ${file}`, host === undefined ? loop : { ...loop, host });
  }

  /** A file that was promised to a host can't be sent. */
  noteRefusedImage(host: HostSpec, file: string, reason: string): void {
    this.#tell(host.name, `image ${file} ${reason}`, {
      kind: 'boot.image-refused',
      host: host.name,
      data: { file, reason },
    });
  }

  /** With the version that `current` was resolved to: the next one comes when a person says so. */
  async #imageOf(host: HostSpec): Promise<string> {
    return imageOf(
      host,
      host.os.version === 'current' ? await this.#options.currentVersion(host) : undefined,
    );
  }

  async #consider(host: HostSpec): Promise<Considered> {
    const { assetsDir, maxFailures, now } = this.#options;
    const record = await this.attempts.recordOf(host.name);
    const name = await this.#imageOf(host);
    const image = await inspectImage(assetsDir, name, this.#options.recordedSize);
    const [unservable, sizes] = 'fault' in image ? [image.fault, NO_SIZES] : [undefined, image.sizes];
    const decision = decide({ host, record, unservable, maxFailures, now: now() });
    return { decision, image: name, sizes, wipe: record.reinstallAt !== undefined };
  }

  async #menuOfHost(kind: MenuKind, host: HostSpec, identity: Identity): Promise<Menu> {
    const considered = await this.#consider(host);
    const { action, why } = considered.decision;
    await this.#saw(host);
    if (action === 'hold')
      this.#tell(host.name, `hold ${why}`, { kind: 'boot.held', host: host.name, data: { reason: why } });
    if (action === 'wait') {
      this.#tell(host.name, `wait ${why}`, {
        kind: 'boot.waiting',
        host: host.name,
        data: { reason: why },
      });
    }
    const title = `${host.name}: ${why}`;
    const what = await this.#whatFor(considered, host, identity, (offer) =>
      this.attempts.offer(host, offer, identity.address),
    );
    const body = await this.#render(kind, host, { title, what });
    return { body, host: host.name, decision: action, why };
  }

  async #whatFor(
    { decision, image, sizes, wipe }: Considered,
    host: HostSpec,
    identity: Identity,
    tokenFor: (offer: Offer) => Promise<string>,
  ): Promise<MenuInput['what']> {
    const { machineIdOf } = this.#options;
    const baseUrl = this.#options.baseUrl();
    switch (decision.action) {
      case 'install':
      case 'run': {
        const offer: Offer = {
          action: decision.action,
          image,
          sizes,
          kernelArguments: [
            ...host.kernelArguments,
            // One that runs from RAM would be another machine to its cluster at every boot.
            ...(host.os.install === 'ram' ? [`systemd.machine_id=${machineIdOf(host.name)}`] : []),
          ],
          wipe,
        };
        const token = await tokenFor(offer);
        return { boots: true, baseUrl, token, initrdName: INITRD, kernelArguments: offer.kernelArguments };
      }
      case 'wait':
        return { waits: decision.seconds, againUrl: `${baseUrl}/boot.ipxe?${query(identity)}` };
      case 'local':
      case 'hold':
        return { local: host.localBoot };
    }
  }

  async #menuOfAmbiguous(
    kind: MenuKind,
    { hosts, reason }: Extract<Identified, { kind: 'ambiguous' }>,
  ): Promise<Menu> {
    const names = hosts.map(({ name }) => name);
    this.#tell(names.join(' '), 'ambiguous', { kind: 'boot.ambiguous', data: { hosts: names, reason } });
    const body = renderMenu(this.#options.templates, kind, {
      title: `which host is this? ${reason}`,
      what: { local: 'auto' },
    });
    return { body, decision: 'ambiguous', why: reason };
  }

  async #menuOfStranger(kind: MenuKind, identity: Identity, vendor: string | undefined): Promise<Menu> {
    const { mac, uuid, serial, address } = identity;
    const now = this.#options.now();
    const key = mac ?? uuid ?? serial;
    if (mac !== undefined && this.#options.isNewSighting(address ?? mac, mac)) {
      await this.#options.events.transact(async (db) => {
        await recordSighting(db, {
          mac,
          uuid: uuid ?? null,
          serial: serial ?? null,
          vendor: vendor ?? null,
          address: address ?? null,
          first_seen: now,
          last_seen: now,
        });
        return [];
      });
    }
    if (key !== undefined) {
      const data = Object.fromEntries(
        Object.entries({ mac, uuid, serial, vendor, address }).filter(([, value]) => value !== undefined),
      );
      this.#tell(address ?? key, `stranger ${key}`, { kind: 'boot.unknown', data });
    }
    const title = `${key ?? 'this machine'} is not in the inventory`;
    return {
      body: renderMenu(this.#options.templates, kind, { title, what: { local: 'auto' } }),
      decision: 'unknown',
      why: title,
    };
  }

  async #render(kind: MenuKind, host: HostSpec, input: MenuInput): Promise<string> {
    const own = host.templates.menu;
    try {
      return renderMenu(this.#options.templates, kind, input, own === undefined ? kind : `${own}.${kind}`);
    } catch (error) {
      const { message } = toRailheadError(error);
      this.#tell(host.name, `template ${message}`, {
        kind: 'boot.menu-failed',
        host: host.name,
        data: { template: own ?? kind, reason: message },
      });
      throw error;
    }
  }

  async #saw(host: HostSpec): Promise<void> {
    if (!this.#seen.isDue(host.name)) return;
    const now = this.#options.now();
    await updateHostRow(
      this.#options.store.db,
      host.name,
      { last_seen: now },
      { state: initialState(host), now },
    );
  }

  #tell(source: string, what: string, event: NewEvent): void {
    if (this.#options.isNews(source, what)) void this.#options.events.append(event).catch(() => {});
  }
}

function query(identity: Identity): string {
  const { mac, uuid, serial } = identity;
  const entries = Object.entries({ mac, uuid, serial }).filter(([, value]) => value !== undefined);
  return new URLSearchParams(entries as [string, string][]).toString();
}
