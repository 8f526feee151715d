import { readFileSync } from 'node:fs';

/** `CILIUM_VERSION` and the like. */
export type Defaults = Readonly<Record<string, string>>;

/** What is installed when the inventory doesn't say: from the file that the scripts read, too, so both agree. */
export function readDefaults(): Defaults {
  return parseDefaults(
    readFileSync(new URL('../../scripts/post-install/lib/defaults.env', import.meta.url), 'utf8'),
  );
}

export function parseDefaults(text: string): Defaults {
  const entries = text.split('\n').flatMap((line) => {
    const [, name, value] = /^([A-Z][A-Z0-9_]*)=(.*)$/.exec(line) ?? [];
    return name === undefined || value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(entries);
}
