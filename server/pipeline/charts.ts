import { resolve } from 'node:path';
import type { ClusterSpec } from '../inventory/model.ts';
import type { KnownAddon } from '../inventory/pipeline-faults.ts';
import type { Defaults } from './defaults.ts';

/** An add-on as a step installs it: where its chart comes from, which version, with which values. */
export interface Chart {
  addon: KnownAddon;
  /** What its variables begin with in the scripts: `CERT_MANAGER`. */
  prefix: string;
  chart: string;
  version: string;
  namespace: string | undefined;
  /** `https://…`, `oci://…`, or a file or folder on this machine. */
  source: { repository: string } | { path: string };
  /** As in the inventory: secrets are references yet. */
  values: Record<string, unknown> | undefined;
}

/** The add-on of a cluster, or `undefined` when the inventory doesn't have it, or not any more. Pure. */
export function chartOf(
  { addons }: Pick<ClusterSpec, 'addons'>,
  addon: KnownAddon,
  { defaults, inventoryDir }: { defaults: Defaults; inventoryDir: string },
): Chart | undefined {
  const given = addons.find(({ name, enabled }) => name === addon && enabled !== false);
  if (given === undefined) return undefined;
  const prefix = addon.replace('-', '_').toUpperCase();
  const byDefault = (what: string): string => defaults[`${prefix}_${what}`] ?? '';
  return {
    addon,
    prefix,
    chart: given.chart ?? byDefault('CHART'),
    version:
      given.version === undefined ? byDefault('VERSION') : likeDefault(given.version, byDefault('VERSION')),
    namespace: given.namespace ?? (byDefault('NAMESPACE') || undefined),
    source:
      given.path === undefined
        ? { repository: (given.repository ?? byDefault('REPOSITORY')).replace(/\/+$/, '') }
        : { path: resolve(inventoryDir, given.path) },
    values: given.values,
  };
}

/** The inventory writes 1.21.1 for v1.21.1; in a registry they are different tags. */
function likeDefault(version: string, fallback: string): string {
  return fallback.startsWith('v') ? `v${version}` : version;
}

/** The chart as variables for the scripts; values come as a file. */
export function chartEnv({ prefix, chart, version, namespace, source }: Chart): Record<string, string> {
  return {
    [`${prefix}_CHART`]: chart,
    [`${prefix}_VERSION`]: version,
    ...(namespace === undefined ? {} : { [`${prefix}_NAMESPACE`]: namespace }),
    ...('path' in source
      ? { [`${prefix}_PATH`]: source.path }
      : { [`${prefix}_REPOSITORY`]: source.repository }),
  };
}
