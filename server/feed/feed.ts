import { RailheadError } from '../errors.ts';
import type { ClusterSpec } from '../inventory/model.ts';
import { allowedVersions } from './allowed-versions.ts';
import type { SysextImage, SysextImages } from './images.ts';
import { type Half, Pairing } from './pairing.ts';
import { Signatures } from './signatures.ts';
import type { FeedKey } from './signing-key.ts';
import { formatSums } from './sums.ts';
import { spellMinor, transferDefinition } from './transfer-definition.ts';

export interface FeedOptions {
  images: SysextImages;
  key: FeedKey;
  /** Of the inventory in force. */
  clusters: () => readonly ClusterSpec[];
  baseUrl: () => string;
  now: () => number;
}

/** What a client looks at: an extension, all of it or what one cluster may have. */
export interface FeedView {
  name: string;
  cluster?: string | undefined;
}

interface Snapshot {
  sums: Buffer;
  signature: Buffer;
}

/** What systemd-sysupdate is told and given. */
export class SysextFeed {
  readonly #options: FeedOptions;
  readonly #signatures: Signatures;
  readonly #pairing: Pairing<Snapshot>;

  constructor(options: FeedOptions) {
    this.#options = options;
    this.#signatures = new Signatures((bytes) => options.key.sign(bytes, options.now()));
    this.#pairing = new Pairing(options.now);
  }

  /** Sums or signature for this client: those that it fetches together fit each other. */
  async half(view: FeedView, half: Half, client: string): Promise<Buffer> {
    const key = JSON.stringify([client, view.cluster, view.name]);
    const snapshot = await this.#pairing.choose(key, half, () => this.snapshot(view));
    return snapshot[half];
  }

  /** Both of this moment. */
  async snapshot(view: FeedView): Promise<Snapshot> {
    const sums = Buffer.from(formatSums(await this.#visible(view)));
    return { sums, signature: await this.#signatures.of(sums) };
  }

  /** The image with this file name; also one that was taken out of the feed while clients may have read of it. */
  async image(view: FeedView, file: string): Promise<SysextImage> {
    const cluster = this.#clusterOf(view);
    const { images } = this.#options;
    const named = (image: SysextImage) => image.file === file;
    const found = (await images.list(view.name)).find(named) ?? (await images.retired(view.name)).find(named);
    if (found === undefined) {
      throw new RailheadError('RH_NOT_FOUND', `There is no sysext image ${view.name}/${file}.`, {
        hint: '`npx railhead sysext list` shows those that there are.',
      });
    }
    if (cluster !== undefined && allowedVersions(view.name, [found.version], cluster).length === 0) {
      const limit = view.name === 'kubernetes' ? cluster.kubernetes : cluster.containerd;
      throw new RailheadError(
        'RH_NOT_FOUND',
        `${file} is not for cluster ${cluster.name}, which is at ${view.name} ${limit}.`,
      );
    }
    return found;
  }

  /** The definition that makes sysupdate follow this view; for one minor if that is given. */
  async definition(view: FeedView, minor?: string): Promise<string> {
    const visible = await this.#visible(view);
    const versions = visible.map(({ version }) => version);
    return transferDefinition({
      ...view,
      baseUrl: this.#options.baseUrl(),
      verify: true,
      ...(minor === undefined ? {} : { minor: spellMinor(view.name, minor, versions) }),
    });
  }

  publicKeyring(): Promise<Buffer> {
    return this.#options.key.publicKeyring();
  }

  async #visible(view: FeedView): Promise<SysextImage[]> {
    const cluster = this.#clusterOf(view);
    const all = await this.#options.images.list(view.name);
    if (all.length === 0) {
      throw new RailheadError('RH_NOT_FOUND', `There is no sysext image of ${view.name}.`, {
        hint: 'Publish one with `npx railhead sysext add FILE`, or fetch it with `npx railhead assets sync`.',
      });
    }
    if (cluster === undefined) return all;
    const allowed = new Set(
      allowedVersions(
        view.name,
        all.map(({ version }) => version),
        cluster,
      ),
    );
    return all.filter(({ version }) => allowed.has(version));
  }

  #clusterOf({ cluster: wanted }: FeedView): ClusterSpec | undefined {
    if (wanted === undefined) return undefined;
    const found = this.#options.clusters().find(({ name }) => name === wanted);
    if (found !== undefined) return found;
    throw new RailheadError(
      'RH_NOT_FOUND',
      `There is no cluster ${JSON.stringify(wanted)} in the inventory.`,
      {
        hint: 'The inventory in force decides; `npx railhead check` says whether it is right.',
      },
    );
  }
}
