import { didYouMean } from '../document/nearest.ts';
import { type Problem, quote } from '../document/problem.ts';
import type { Item } from './collect.ts';
import type { Cluster } from './schema.ts';

/** Add-ons that the built-in steps of the pipeline install. */
export const KNOWN_ADDONS = ['cilium', 'cert-manager', 'argocd', 'gateway-api'] as const;
export type KnownAddon = (typeof KNOWN_ADDONS)[number];

/** What is wrong with a cluster's add-ons and pipeline, as far as its own lines show. */
export function pipelineFaults(item: Item<Cluster>): Problem[] {
  const { addons = [], pipeline = {} } = item.value;
  const steps = (pipeline.steps ?? []).map((step) => (typeof step === 'string' ? step : step.name));
  return [
    ...repeated(addons.map(({ name }) => name)).map((index) =>
      item.error(['addons', index], `the add-on ${quote(addons[index]!.name)} is listed twice`),
    ),
    ...addons.flatMap(({ name, path, repository }, index) => {
      if (path !== undefined && repository !== undefined) {
        return [
          item.error(['addons', index], 'either `path` or `repository`: the chart comes from one place'),
        ];
      }
      if (KNOWN_ADDONS.includes(name as KnownAddon)) return [];
      const guess = didYouMean(name, KNOWN_ADDONS) || `; known: ${KNOWN_ADDONS.join(', ')}`;
      return [item.warning(['addons', index], `no step installs the add-on ${quote(name)}${guess}`)];
    }),
    ...repeated(steps).map((index) =>
      item.error(['pipeline', 'steps', index], `the step ${quote(steps[index]!)} is listed twice`),
    ),
  ];
}

/** Where something stands that was there before. */
function repeated(names: readonly string[]): number[] {
  return names.flatMap((name, index) => (names.indexOf(name) < index ? [index] : []));
}
