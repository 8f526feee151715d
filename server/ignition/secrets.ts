import { isRecord } from '../document/shape.ts';

/** Where a secret is found: `{fromFile: PATH}` or `{fromEnv: NAME}`, as the inventory writes it. */
export type SecretReference = { fromFile: string } | { fromEnv: string };

export type SecretReader = (reference: SecretReference) => string;

/** What stands in a preview in place of a secret. */
export function markerOf(what: string): string {
  return `<secret: ${what}>`;
}

/** Variables with their secrets: what was found, or a marker. `undefined` in place of `read` shows none. */
export function withSecrets(value: unknown, read: SecretReader | undefined, name: string): unknown {
  if (isReference(value)) return read === undefined ? markerOf(name) : read(value);
  if (Array.isArray(value)) return value.map((item, index) => withSecrets(item, read, `${name}.${index}`));
  if (!isRecord(value)) return value;
  // Not by assignment: a variable may be called `__proto__`.
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [key, withSecrets(item, read, `${name}.${key}`)]),
  );
}

/** Whether there is any secret in these variables. */
export function hasSecrets(value: unknown): boolean {
  if (isReference(value)) return true;
  if (Array.isArray(value)) return value.some(hasSecrets);
  return isRecord(value) && Object.values(value).some(hasSecrets);
}

function isReference(value: unknown): value is SecretReference {
  if (!isRecord(value)) return false;
  const [key, ...more] = Object.keys(value);
  return (
    more.length === 0 &&
    (key === 'fromFile' || key === 'fromEnv') &&
    typeof Object.values(value)[0] === 'string'
  );
}
