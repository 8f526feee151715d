import { formatProblem, type Problem } from '../document/problem.ts';
import { RailheadError } from '../errors.ts';
import type { InventoryIndex } from '../inventory/index.ts';
import type { HostSpec } from '../inventory/model.ts';
import type { TemplateFolders } from '../templating/template-folders.ts';
import { DataUrlCache } from './butane/data-url.ts';
import type { FilesReader } from './butane/files.ts';
import type { ButaneLayer } from './butane-text.ts';
import { type Composed, composeConfig, layersOf } from './compose.ts';
import type { ConfigRequest, Purpose, RenderedConfig } from './delivery.ts';
import { readerOfFolders } from './local-files.ts';
import { markerOf, type SecretReader } from './secrets.ts';
import { type ServerFacts, type Sysext, templateValues } from './values.ts';

export interface RendererOptions {
  inventory: () => InventoryNow;
  templates: TemplateFolders;
  server: () => ServerFacts;
  readSecret: SecretReader;
  /** What the host is to be extended with, and what verifies it. */
  sysextsOf: (host: HostSpec) => Promise<Sysext[]>;
  feed: () => Promise<{ keyring: Buffer; noop: string }>;
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

/** What people may see of a configuration: every secret is a marker. */
export type Preview = { text: string; layers: readonly ButaneLayer[] } | { problems: Problem[] };

const MAX_PREVIEWS = 20_000;

/** Makes the configurations of hosts from the inventory in force and the templates as they are. */
export class ConfigRenderer {
  readonly #options: RendererOptions;
  readonly #dataUrls = new DataUrlCache();
  readonly #files: FilesReader;
  readonly #previews = new Map<string, Preview>();

  constructor(options: RendererOptions) {
    this.#options = options;
    this.#files = readerOfFolders(options.templates.folders);
  }

  /** With its secrets: for the machine itself, or for a person who may see them. Never kept. */
  readonly render = async (request: ConfigRequest): Promise<RenderedConfig> => {
    const { host, purpose, wipe, token } = request;
    const read = this.#options.readSecret;
    const composed = await this.#composeDiscreetly({ host, purpose, wipe, secrets: { token, read } });
    if ('problems' in composed) return { problems: composed.problems.map(formatProblem) };
    return { text: JSON.stringify(composed.config) };
  };

  /** Without them: kept as long as neither the inventory, nor a template, nor what else it is made of changes. */
  async preview(host: HostSpec, purpose: Purpose, from = this.#options.inventory()): Promise<Preview> {
    const { templates, sysextsOf } = this.#options;
    const facts = JSON.stringify(await sysextsOf(host));
    const key = [host.name, purpose, from.revision, templates.current().version, facts].join('\n');
    const known = this.#previews.get(key);
    if (known !== undefined) return known;
    const preview = toPreview(await this.#compose({ host, purpose, wipe: false, from }));
    this.#previews.set(key, preview);
    if (this.#previews.size > MAX_PREVIEWS) this.#previews.delete(this.#previews.keys().next().value!);
    return preview;
  }

  /** With all secrets but the token of a boot, which there is none of: for a person who may see them. */
  async reveal(host: HostSpec, purpose: Purpose): Promise<Preview> {
    const secrets = { token: markerOf('token of this boot'), read: this.#options.readSecret };
    return toPreview(await this.#composeDiscreetly({ host, purpose, wipe: false, secrets }));
  }

  /** With secrets. What is wrong ends up in events and logs, so it must not quote one. */
  async #composeDiscreetly(request: ComposeRequest): Promise<Composed> {
    try {
      const composed = await this.#compose(request);
      if (!('problems' in composed)) return composed;
      const { host, purpose, wipe } = request;
      const withMarkers = await this.#compose({ host, purpose, wipe });
      return 'problems' in withMarkers ? withMarkers : { problems: composed.problems.map(withoutValue) };
    } catch (error) {
      if (!(error instanceof RailheadError) || error.code !== 'RH_SECRET_MISSING') throw error;
      return { problems: [problemOf('secret', error.message)] };
    }
  }

  async #compose({
    host,
    purpose,
    wipe,
    secrets,
    from = this.#options.inventory(),
  }: ComposeRequest): Promise<Composed> {
    const { templates, server, sysextsOf, feed } = this.#options;
    const [sysexts, keys] = await Promise.all([sysextsOf(host), feed()]);
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
      wipe,
      secrets,
    });
    return composeConfig(
      { set: templates.current().set, files: this.#files },
      layersOf(host, purpose),
      values,
      this.#dataUrls,
    );
  }
}

function toPreview(composed: Composed): Preview {
  if ('problems' in composed) return composed;
  return { text: `${JSON.stringify(composed.config, null, 2)}\n`, layers: composed.layers };
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
