import { hash } from 'node:crypto';
import { formatProblem, type Problem } from '../document/problem.ts';
import { RailheadError } from '../errors.ts';
import type { InventoryIndex } from '../inventory/index.ts';
import type { HostSpec } from '../inventory/model.ts';
import { Recent } from '../templating/recent.ts';
import type { TemplateFolders } from '../templating/template-folders.ts';
import { DataUrlCache } from './butane/data-url.ts';
import type { FilesReader } from './butane/files.ts';
import { butaneText } from './butane-text.ts';
import { composeConfig, layersOf, type Written, writeConfig } from './compose.ts';
import type { ConfigRequest, Purpose, RenderedConfig } from './delivery.ts';
import { readerOfFolders } from './local-files.ts';
import type { Layout } from './outline.ts';
import { OutlineCache } from './outline-cache.ts';
import { hasSecrets, markerOf, type SecretReader } from './secrets.ts';
import { Slabs } from './slabs.ts';
import { type ServerFacts, type Sysext, templateValues } from './values.ts';

export interface RendererOptions {
  inventory: () => InventoryNow;
  templates: TemplateFolders;
  server: () => ServerFacts;
  readSecret: SecretReader;
  /** What the host is to be extended with, and what verifies it. */
  sysextsOf: (host: HostSpec) => Promise<Sysext[]>;
  feed: () => Promise<{ keyring: Buffer; noop: string }>;
  /** The key that images to install are signed with, in ASCII armour, if it is known. */
  imageKey?: () => Promise<string | undefined>;
}

/** An inventory, and which one it is. */
export interface InventoryNow {
  index: InventoryIndex;
  revision: string | undefined;
}

interface ComposeRequest {
  host: HostSpec;
  purpose: Purpose;
  wipe: boolean;
  secrets?: { token: string; read: SecretReader };
  from?: InventoryNow;
  format?: Format;
  layout: Layout;
}

/** How a configuration is shown: as machines get it, or as what it is made of. */
export type Format = 'ignition' | 'butane';

interface PreviewOptions {
  format?: Format | undefined;
  from?: InventoryNow | undefined;
}

const FOR_MACHINES: Layout = { indent: 0, allocate: Buffer.allocUnsafe };
const FOR_PEOPLE: Layout = { indent: 2, allocate: Buffer.allocUnsafe };

/** Of previews: enough for twenty thousand hosts. */
const MAX_KEPT_BYTES = 512 * 1024 * 1024;

/** Makes the configurations of hosts from the inventory in force and the templates as they are. */
export class ConfigRenderer {
  readonly #options: RendererOptions;
  readonly #dataUrls = new DataUrlCache();
  readonly #outlines = new OutlineCache();
  readonly #files: FilesReader;
  readonly #slabs = new Slabs();
  readonly #previews = new Recent<Written>(MAX_KEPT_BYTES, (_key, made) =>
    'bytes' in made ? made.bytes.length : 1000,
  );

  constructor(options: RendererOptions) {
    this.#options = options;
    this.#files = readerOfFolders(options.templates.folders);
  }

  /** With its secrets, for the machine itself. */
  readonly render = async ({ host, purpose, wipe, token }: ConfigRequest): Promise<RenderedConfig> => {
    const secrets = { token, read: this.#options.readSecret };
    const made = await this.#composeDiscreetly({ host, purpose, wipe, secrets, layout: FOR_MACHINES });
    return 'problems' in made ? { problems: made.problems.map(formatProblem) } : made;
  };

  /** Without them: kept as long as neither the inventory, nor a template, nor what else it is made of changes. */
  async preview(
    host: HostSpec,
    purpose: Purpose,
    { format = 'ignition', from = this.#options.inventory() }: PreviewOptions = {},
  ): Promise<Written> {
    const key = `${format} ${await this.#keyOf(host, purpose, from)}`;
    const known = this.#previews.get(key);
    if (known !== undefined) return known;
    const layout = { indent: 2, allocate: this.#slabs.allocate };
    const preview = await this.#compose({ host, purpose, wipe: false, from, format, layout });
    // Anybody may ask for those of every revision there was: they would crowd out the ones in force.
    if (from.revision === this.#options.inventory().revision) this.#previews.keep(key, preview);
    return preview;
  }

  /** Everything that a preview is made of and that may change, in short: long keys take longer to look up. */
  async #keyOf(host: HostSpec, purpose: Purpose, from: InventoryNow): Promise<string> {
    const { templates, sysextsOf, server } = this.#options;
    // Others are named by the inventory, and nothing else is known of them.
    const images =
      host.os.sysexts === 'ignition'
        ? (await sysextsOf(host)).map(({ version, image }) => `${version} ${image?.sha256}`)
        : '';
    const imageKey = purpose === 'installer' ? await this.#imageKeyFor(purpose) : undefined;
    const signer = imageKey === undefined ? '' : hash('sha256', imageKey);
    const edition = templates.current().version;
    return `${host.name} ${purpose} ${from.revision} ${edition} ${server().url} ${images} ${signer}`;
  }

  /** With all secrets but the token of a boot, which there is none of: for a person who may see them. */
  async reveal(host: HostSpec, purpose: Purpose, format: Format = 'ignition'): Promise<Written> {
    const secrets = { token: markerOf('token of this boot'), read: this.#options.readSecret };
    return this.#composeDiscreetly({ host, purpose, wipe: false, secrets, format, layout: FOR_PEOPLE });
  }

  /** With secrets. What is wrong ends up in events and logs, so it must not quote one. */
  async #composeDiscreetly(request: ComposeRequest): Promise<Written> {
    try {
      const composed = await this.#compose(request);
      if (!('problems' in composed)) return composed;
      const { secrets: _secrets, ...withoutSecrets } = request;
      const withMarkers = await this.#compose(withoutSecrets);
      return 'problems' in withMarkers ? withMarkers : { problems: composed.problems.map(withoutValue) };
    } catch (error) {
      if (!(error instanceof RailheadError) || error.code !== 'RH_SECRET_MISSING') throw error;
      return { problems: [problemOf('secret', error.message)] };
    }
  }

  /** Only who installs needs it. */
  async #imageKeyFor(purpose: Purpose): Promise<string | undefined> {
    return purpose === 'installer' ? this.#options.imageKey?.() : undefined;
  }

  async #compose(request: ComposeRequest): Promise<Written> {
    const { host, purpose, wipe, secrets, layout, from = this.#options.inventory() } = request;
    const { templates, server, sysextsOf, feed } = this.#options;
    const [sysexts, keys, imageKey] = await Promise.all([
      sysextsOf(host),
      feed(),
      this.#imageKeyFor(purpose),
    ]);
    const missing = host.os.sysexts === 'ignition' ? sysexts.filter(({ image }) => image === undefined) : [];
    if (missing.length > 0 && purpose === 'system') return { problems: missing.map(notInFeed) };
    const { clusters } = from.index.inventory;
    const values = templateValues({
      host,
      cluster: clusters.find(({ name }) => name === host.cluster),
      purpose,
      server: server(),
      sysexts,
      feed: keys,
      imageKey,
      wipe,
      secrets,
    });
    const sources = { set: templates.current().set, files: this.#files };
    const layers = layersOf(host, purpose);
    const dataUrls = this.#dataUrls;
    if (request.format === 'butane') {
      const composed = composeConfig(sources, layers, values, dataUrls);
      return 'problems' in composed ? composed : { bytes: Buffer.from(butaneText(composed.layers)) };
    }
    const holdsSecrets = secrets !== undefined && hasSecrets(host.variables);
    const outlines = holdsSecrets ? undefined : this.#outlines;
    return writeConfig(sources, layers, values, { dataUrls, outlines }, layout);
  }
}

function notInFeed({ name, version }: Sysext): Problem {
  const message = `the feed has no ${name} ${version}; fetch it with \`npx railhead assets sync\``;
  return problemOf('sysext', message);
}

/** The same place, without what is there: only a secret can be what is wrong with it. */
function withoutValue(problem: Problem): Problem {
  return { ...problem, message: 'this is right with a marker, but not with the secret that goes here' };
}

function problemOf(file: string, message: string): Problem {
  return { severity: 'error', file, line: 0, col: 0, subject: '', message };
}
