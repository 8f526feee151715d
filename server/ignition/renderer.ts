import { hash, randomBytes } from 'node:crypto';
import { formatProblem, type Problem } from '../document/problem.ts';
import { RailheadError } from '../errors.ts';
import type { InventoryIndex } from '../inventory/index.ts';
import type { HostSpec } from '../inventory/model.ts';
import { Recent } from '../templating/recent.ts';
import type { TemplateFolders } from '../templating/template-folders.ts';
import { DataUrlCache } from './butane/data-url.ts';
import type { FilesReader } from './butane/files.ts';
import { butaneText } from './butane-text.ts';
import { type Composed, composeConfig, layersOf } from './compose.ts';
import type { ConfigRequest, Purpose, RenderedConfig } from './delivery.ts';
import { readerOfFolders } from './local-files.ts';
import { OutlineCache } from './outline-cache.ts';
import { hasSecrets, markerOf, type SecretReader } from './secrets.ts';
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
}

/** How a configuration is shown: as machines get it, or as what it is made of. */
export type Format = 'ignition' | 'butane';

/** A configuration for people, as it is sent: nothing else is kept of it, for there may be many thousands. */
export type Preview = { bytes: Buffer } | { problems: Problem[] };

interface PreviewOptions {
  format?: Format | undefined;
  from?: InventoryNow | undefined;
}

/** For the previews, and as much for what hosts were given: enough for twenty thousand hosts. */
const MAX_KEPT_BYTES = 512 * 1024 * 1024;

/** Makes the configurations of hosts from the inventory in force and the templates as they are. */
export class ConfigRenderer {
  readonly #options: RendererOptions;
  readonly #dataUrls = new DataUrlCache();
  readonly #outlines = new OutlineCache();
  readonly #files: FilesReader;
  readonly #previews = new Recent<Preview>(MAX_KEPT_BYTES, (_key, made) =>
    'bytes' in made ? made.bytes.length : 1000,
  );
  /** Stands for a token, and looks like one; nobody knows it. */
  readonly #mark = randomBytes(16).toString('base64url');
  readonly #withMark = new Recent<{ text: string }>(MAX_KEPT_BYTES, (_key, { text }) => text.length);

  constructor(options: RendererOptions) {
    this.#options = options;
    this.#files = readerOfFolders(options.templates.folders);
  }

  /** With its secrets, for the machine itself. What is kept of it is without them. */
  readonly render = async (request: ConfigRequest): Promise<RenderedConfig> => {
    // The inventory may change while something is waited for: what is kept belongs to this one.
    const from = this.#options.inventory();
    const key = await this.#keyOf(request.host, request.purpose, from, request.wipe);
    const kept = hasSecrets(request.host.variables) ? undefined : this.#withMark.get(key);
    if (kept !== undefined) return { text: kept.text.replaceAll(this.#mark, request.token) };
    const rendered = await this.#renderWhole(request, from);
    if ('text' in rendered && !hasSecrets(request.host.variables))
      await this.#keep(key, request, from, rendered.text);
    return rendered;
  };

  async #renderWhole(
    { host, purpose, wipe, token }: ConfigRequest,
    from: InventoryNow,
  ): Promise<RenderedConfig> {
    const read = this.#options.readSecret;
    const composed = await this.#composeDiscreetly({ host, purpose, wipe, secrets: { token, read }, from });
    if ('problems' in composed) return { problems: composed.problems.map(formatProblem) };
    return { text: JSON.stringify(composed.config) };
  }

  /**
   * Keeps it with a mark in place of the token, for the next boot of this host. Only if that gives the same: a template
   * may do more with the token than to write it down, such as to put it into a file that is packed.
   */
  async #keep(key: string, request: ConfigRequest, from: InventoryNow, text: string): Promise<void> {
    const marked = await this.#renderWhole({ ...request, token: this.#mark }, from);
    if (!('text' in marked) || marked.text.replaceAll(this.#mark, request.token) !== text) return;
    this.#withMark.keep(key, marked);
  }

  /** Without them: kept as long as neither the inventory, nor a template, nor what else it is made of changes. */
  async preview(
    host: HostSpec,
    purpose: Purpose,
    { format = 'ignition', from = this.#options.inventory() }: PreviewOptions = {},
  ): Promise<Preview> {
    const key = `${format} ${await this.#keyOf(host, purpose, from)}`;
    const known = this.#previews.get(key);
    if (known !== undefined) return known;
    const preview = toPreview(await this.#compose({ host, purpose, wipe: false, from }), format);
    // Anybody may ask for those of every revision there was: they would crowd out the ones in force.
    if (from.revision === this.#options.inventory().revision) this.#previews.keep(key, preview);
    return preview;
  }

  /** Everything that a configuration is made of and that may change, in short: long keys take longer to look up. */
  async #keyOf(host: HostSpec, purpose: Purpose, from: InventoryNow, wipe = false): Promise<string> {
    const { templates, sysextsOf, server } = this.#options;
    const images = (await sysextsOf(host)).map(({ version, image }) => `${version} ${image?.sha256}`);
    const imageKey = await this.#imageKeyFor(purpose);
    const signer = imageKey === undefined ? '' : hash('sha256', imageKey);
    const edition = templates.current().version;
    return `${host.name} ${purpose} ${wipe} ${from.revision} ${edition} ${server().url} ${images} ${signer}`;
  }

  /** With all secrets but the token of a boot, which there is none of: for a person who may see them. */
  async reveal(host: HostSpec, purpose: Purpose, format: Format = 'ignition'): Promise<Preview> {
    const secrets = { token: markerOf('token of this boot'), read: this.#options.readSecret };
    return toPreview(await this.#composeDiscreetly({ host, purpose, wipe: false, secrets }), format);
  }

  /** With secrets. What is wrong ends up in events and logs, so it must not quote one. */
  async #composeDiscreetly(request: ComposeRequest): Promise<Composed> {
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

  async #compose({
    host,
    purpose,
    wipe,
    secrets,
    from = this.#options.inventory(),
  }: ComposeRequest): Promise<Composed> {
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
    return composeConfig(
      { set: templates.current().set, files: this.#files },
      layersOf(host, purpose),
      values,
      {
        dataUrls: this.#dataUrls,
        outlines: secrets !== undefined && hasSecrets(host.variables) ? undefined : this.#outlines,
      },
    );
  }
}

function toPreview(composed: Composed, format: Format): Preview {
  if ('problems' in composed) return composed;
  const { config, layers } = composed;
  const text = format === 'butane' ? butaneText(layers) : `${JSON.stringify(config, null, 2)}\n`;
  return { bytes: Buffer.from(text) };
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
