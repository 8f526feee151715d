import { hash } from 'node:crypto';
import { formatProblem, type Problem } from '../document/problem.ts';
import { RailheadError } from '../errors.ts';
import type { InventoryIndex } from '../inventory/index.ts';
import type { HostSpec } from '../inventory/model.ts';
import type { TemplateFolders } from '../templating/template-folders.ts';
import { DataUrlCache } from './butane/data-url.ts';
import type { FilesReader } from './butane/files.ts';
import { butaneText } from './butane-text.ts';
import { composeConfig, layersOf, type Written, writeConfig } from './compose.ts';
import type { ConfigRequest, Purpose, RenderedConfig } from './delivery.ts';
import { readerOfFolders } from './local-files.ts';
import { OutlineCache } from './outline-cache.ts';
import { type Format, PreviewCache, type Stamp } from './preview-cache.ts';
import { hasSecrets, markerOf, type SecretReader } from './secrets.ts';
import { fixedBytes, toBuffer } from './sheet.ts';
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
  indent: number;
}

interface PreviewOptions {
  format?: Format | undefined;
  from?: InventoryNow | undefined;
}

/** How lines are indented; machines get one long line. */
const FOR_MACHINES = 0;
const FOR_PEOPLE = 2;

/** Makes the configurations of hosts from the inventory in force and the templates as they are. */
export class ConfigRenderer {
  readonly #options: RendererOptions;
  readonly #dataUrls = new DataUrlCache();
  readonly #outlines = new OutlineCache();
  readonly #files: FilesReader;
  readonly #previews = new PreviewCache();

  constructor(options: RendererOptions) {
    this.#options = options;
    this.#files = readerOfFolders(options.templates.folders);
  }

  /** With its secrets, for the machine itself. */
  readonly render = async ({ host, purpose, wipe, token }: ConfigRequest): Promise<RenderedConfig> => {
    const secrets = { token, read: this.#options.readSecret };
    const made = await this.#composeDiscreetly({ host, purpose, wipe, secrets, indent: FOR_MACHINES });
    return 'problems' in made ? { problems: made.problems.map(formatProblem) } : { bytes: toBuffer(made) };
  };

  /** Without them: kept as long as neither the inventory, nor a template, nor what else it is made of changes. */
  async preview(
    host: HostSpec,
    purpose: Purpose,
    { format = 'ignition', from = this.#options.inventory() }: PreviewOptions = {},
  ): Promise<Written> {
    const asked = isSettled(host, purpose) ? '' : await this.#askedFor(host, purpose);
    const stamp = this.#stampOf(from, asked);
    const known = this.#previews.find(host, purpose, format, stamp);
    if (known !== undefined) return known;
    const preview = await this.#compose({ host, purpose, wipe: false, from, format, indent: FOR_PEOPLE });
    this.#previews.keep(host, purpose, format, stamp, preview);
    return preview;
  }

  /** The preview, if it is kept and that can be told at once. */
  kept(host: HostSpec, purpose: Purpose): Written | undefined {
    if (!isSettled(host, purpose)) return undefined;
    return this.#previews.find(host, purpose, 'ignition', this.#stampOf(this.#options.inventory(), ''));
  }

  #stampOf({ revision }: InventoryNow, asked: string): Stamp {
    const { templates, server } = this.#options;
    return { revision, edition: templates.current().version, url: server().url, asked };
  }

  /** What has to be asked for: the images that the feed has, and who signs what is installed. */
  async #askedFor(host: HostSpec, purpose: Purpose): Promise<string> {
    const sysexts = await this.#options.sysextsOf(host);
    const images = sysexts.map(({ version, image }) => `${version} ${image?.sha256}`);
    return `${images} ${hash('sha256', (await this.#imageKeyFor(purpose)) ?? '')}`;
  }

  /** With all secrets but the token of a boot, which there is none of: for a person who may see them. */
  async reveal(host: HostSpec, purpose: Purpose, format: Format = 'ignition'): Promise<Written> {
    const secrets = { token: markerOf('token of this boot'), read: this.#options.readSecret };
    return this.#composeDiscreetly({ host, purpose, wipe: false, secrets, format, indent: FOR_PEOPLE });
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
    const { host, purpose, wipe, secrets, indent, from = this.#options.inventory() } = request;
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
      return 'problems' in composed ? composed : fixedBytes(butaneText(composed.layers));
    }
    const holdsSecrets = secrets !== undefined && hasSecrets(host.variables);
    const outlines = holdsSecrets ? undefined : this.#outlines;
    return writeConfig(sources, layers, values, { dataUrls, outlines }, indent);
  }
}

/** Whether nothing has to be asked for: a system whose extensions the inventory names, and nothing else is known of. */
function isSettled(host: HostSpec, purpose: Purpose): boolean {
  return purpose === 'system' && host.os.sysexts !== 'ignition';
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
