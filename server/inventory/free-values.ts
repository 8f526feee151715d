import { type Problem, quote } from '../document/problem.ts';
import { isRecord } from '../document/shape.ts';
import type { Path } from '../document/yaml.ts';
import type { Item, Items } from './collect.ts';

/** Names that hold secrets. `passwordHash` and `sshPublicKey` don't match on purpose: they are meant to be read. */
const SECRET_NAME = /(password|passwd|passphrase|secret|token|(private|secret|api)[_-]?key)$/i;
/** Helm charts use these for the name of a Secret. */
const NAME_OF_SECRET = /(existing|pull|tls)[_-]?secret$/i;
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----/;

/** What no schema describes, because it is meant for templates and charts. */
export function freeValueFaults({ clusters, ...others }: Items): Problem[] {
  const layers: Item<{ name: string; variables?: Record<string, unknown> }>[] = [
    ...clusters,
    ...Object.values(others).flat(),
  ];
  return [
    ...layers.flatMap((item) => faultsOf(item, ['variables'], item.value.variables)),
    ...clusters.flatMap((item) =>
      (item.value.addons ?? []).flatMap(({ values }, index) =>
        faultsOf(item, ['addons', index, 'values'], values),
      ),
    ),
    ...clusters.flatMap((item) =>
      (item.value.pipeline?.steps ?? []).flatMap((step, index) =>
        typeof step === 'string' ? [] : faultsOf(item, ['pipeline', 'steps', index, 'values'], step.values),
      ),
    ),
  ];
}

function faultsOf(item: Item, path: Path, value: unknown): Problem[] {
  if (Array.isArray(value)) {
    return value.flatMap((entry, index) => faultsOf(item, [...path, index], entry));
  }
  if (isRecord(value)) {
    return Object.entries(value).flatMap(([name, entry]) => faultsOf(item, [...path, name], entry));
  }
  if (typeof value !== 'string' && typeof value !== 'number') return [];
  // The inventory is stored and shown: a plain secret in it would be, too.
  const key = String(path.findLast((step) => typeof step === 'string'));
  const isListed = typeof path.at(-1) === 'number';
  if (isSecretName(isListed ? key.replace(/s$/, '') : key) || PRIVATE_KEY.test(String(value))) {
    const instead = 'write {fromFile: PATH} or {fromEnv: NAME}';
    return [item.error(path, `${quote(key)} looks like a secret in plain text; ${instead}`)];
  }
  return typeof value === 'number' ? numberFaults(item, path, value) : [];
}

function isSecretName(name: string): boolean {
  return SECRET_NAME.test(name) && !NAME_OF_SECRET.test(name);
}

/** 1.30 is 1.3 to YAML, 0644 is 644, and long ids lose their last digits: what a template gets is not what was written. */
function numberFaults(item: Item, path: Path, value: number): Problem[] {
  const written = item.text(...path)?.replace(/^\+/, '') ?? '';
  if (!Number.isFinite(value)) {
    return [item.error(path, `${written} is not a number that can be kept; put it in quotes`)];
  }
  // Who writes 0x1f knows what it becomes; 1e10 may be the beginning of a commit's hash.
  if (!/^-?[0-9.]+(e[0-9]+)?$/i.test(written) || written === String(value)) return [];
  return [
    item.warning(path, `${written} is read as the number ${value}; put it in quotes to keep it as written`),
  ];
}
