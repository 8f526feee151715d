import type { Problem } from '../document/problem.ts';
import type { HostSpec } from '../inventory/model.ts';
import { renderYaml, runYaml } from '../templating/render-yaml.ts';
import type { TemplateSet } from '../templating/template-set.ts';
import { DataUrlCache, type DataUrls } from './butane/data-url.ts';
import type { FilesReader } from './butane/files.ts';
import type { ButaneLayer } from './butane-text.ts';
import type { Purpose } from './delivery.ts';
import { type Layer, layTogether } from './layers.ts';
import type { Draft, OutlineCache } from './outline-cache.ts';
import { type ConfigBytes, fixedBytes, jsonText } from './sheet.ts';
import type { IgnitionConfig } from './spec/schema.ts';

/** Which templates make up a host's configuration, from the bottom up. */
export function layersOf(host: HostSpec, purpose: Purpose): string[] {
  const own = host.templates.ignition;
  const builtIn =
    purpose === 'installer'
      ? ['installer']
      : own !== undefined
        ? [own.replace(/\.bu$/, '')]
        : [
            'base',
            ...(host.member && host.kubernetes !== undefined ? ['kubernetes'] : []),
            ...(host.os.install === 'ram' && host.disk !== undefined ? ['ram'] : []),
          ];
  const snippets = purpose === 'installer' ? [] : host.snippets;
  return [...builtIn.map((name) => `ignition/${name}.bu`), ...snippets.map((name) => `snippets/${name}`)];
}

export interface ComposeTemplates {
  set: TemplateSet;
  /** What they may take contents from. */
  files: FilesReader;
}

type Values = Readonly<Record<string, unknown>>;

export type Composed = { config: IgnitionConfig; layers: readonly ButaneLayer[] } | { problems: Problem[] };

/** Renders the layers, and makes one Ignition config of them. Pure. */
export function composeConfig(
  { set, files }: ComposeTemplates,
  templates: readonly string[],
  values: Values,
  dataUrls: DataUrls = new DataUrlCache(),
): Composed {
  const layers: Layer[] = [];
  const problems: Problem[] = [];
  for (const template of templates) {
    const rendered = renderYaml(set, template, values);
    if ('problems' in rendered) problems.push(...rendered.problems);
    else layers.push({ template, document: rendered.document });
  }
  const laid = layTogether(layers, { files, dataUrlsFor: () => dataUrls }, problems);
  return 'problems' in laid ? laid : { config: laid.config, layers };
}

/** What is kept from one configuration to the next, to make that faster. */
export interface ComposeCaches {
  dataUrls: DataUrls;
  /** Holds values: not for secrets. */
  outlines: OutlineCache | undefined;
}

export type Written = ConfigBytes | { problems: Problem[] };

/** The same config as JSON (see `jsonText`); fast when there was one of its kind before. Not a byte differs for that. */
export function writeConfig(
  sources: ComposeTemplates,
  templates: readonly string[],
  values: Values,
  caches: ComposeCaches,
  indent: number,
): Written {
  const known = fromOutline(sources, templates, values, caches, indent);
  if (known !== undefined) return known;
  const composed = composeConfig(sources, templates, values, caches.dataUrls);
  return 'problems' in composed ? composed : fixedBytes(jsonText(composed.config, indent));
}

function fromOutline(
  { set, files }: ComposeTemplates,
  templates: readonly string[],
  values: Values,
  { outlines, dataUrls }: ComposeCaches,
  indent: number,
): ConfigBytes | undefined {
  if (outlines === undefined) return undefined;
  const drafts: Draft[] = [];
  for (const template of templates) {
    const draft = runYaml(set, template, values);
    if ('problems' in draft) return undefined;
    drafts.push({ ...draft, template });
  }
  const valuesOf = drafts.map((draft) => draft.values);
  return outlines.of(drafts, { files, dataUrls })?.fill(valuesOf, dataUrls, indent);
}
