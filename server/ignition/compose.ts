import type { Problem } from '../document/problem.ts';
import type { HostSpec } from '../inventory/model.ts';
import { renderYaml } from '../templating/render-yaml.ts';
import type { TemplateSet } from '../templating/template-set.ts';
import { DataUrlCache } from './butane/data-url.ts';
import type { FilesReader } from './butane/files.ts';
import type { ButaneLayer } from './butane-text.ts';
import type { Purpose } from './delivery.ts';
import { type Layer, layTogether } from './layers.ts';
import { fillOutline } from './outline.ts';
import type { OutlineCache } from './outline-cache.ts';
import type { IgnitionConfig } from './spec/schema.ts';

export type Composed = { config: IgnitionConfig; layers: readonly ButaneLayer[] } | { problems: Problem[] };

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

/** What is kept from one configuration to the next, to make that faster. */
export interface ComposeCaches {
  dataUrls: DataUrlCache;
  /** Holds values: not for secrets. */
  outlines?: OutlineCache | undefined;
}

/** Renders the layers, and makes one Ignition config of them. Pure. */
export function composeConfig(
  { set, files }: ComposeTemplates,
  templates: readonly string[],
  values: Readonly<Record<string, unknown>>,
  { dataUrls, outlines }: ComposeCaches = { dataUrls: new DataUrlCache() },
): Composed {
  const layers: Layer[] = [];
  const problems: Problem[] = [];
  for (const template of templates) {
    const rendered = renderYaml(set, template, values);
    if ('problems' in rendered) problems.push(...rendered.problems);
    else layers.push({ template, document: rendered.document });
  }
  const outline = problems.length > 0 ? undefined : outlines?.of(layers, { files, dataUrls });
  const filled = outline && fillOutline(outline, layers, dataUrls);
  if (filled !== undefined) return { config: filled, layers };
  const laid = layTogether(layers, { files, dataUrlsFor: () => dataUrls }, problems);
  return 'problems' in laid ? laid : { config: laid.config, layers };
}
