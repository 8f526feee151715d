import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { isRecord } from '../document/shape.ts';
import { toRailheadError } from '../errors.ts';
import { canonicalJson } from '../inventory/revision.ts';
import type { PlannedStep } from './plan.ts';

export type SecretReference = { fromFile: string } | { fromEnv: string };
/** Throws when it is not where the inventory says. */
export type SecretReader = (reference: SecretReference) => string;

/** What a step is given, with its secrets. It lives as long as the run, and is shown to nobody. */
export interface Filled {
  /** By the name of the variable that will name the file. */
  files: Record<string, Record<string, unknown>>;
  /** Every secret in them, so that logs can be kept free of them. */
  secrets: string[];
}

export function fillSecrets(files: PlannedStep['files'], read: SecretReader): Filled {
  const secrets: string[] = [];
  const fill = (value: unknown): unknown => {
    if (isReference(value)) {
      const secret = read(value);
      secrets.push(secret);
      return secret;
    }
    if (Array.isArray(value)) return value.map(fill);
    if (!isRecord(value)) return value;
    // Not by assignment: a value may be called `__proto__`.
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item)]));
  };
  return { files: fill(files) as Filled['files'], secrets };
}

function isReference(value: unknown): value is SecretReference {
  if (!isRecord(value)) return false;
  const entries = Object.entries(value);
  const [key, text] = entries[0] ?? [];
  return entries.length === 1 && (key === 'fromFile' || key === 'fromEnv') && typeof text === 'string';
}

export interface FingerprintOptions {
  readSecret: SecretReader;
  /** The file of a step that is a person's own: a new version of it is something to run. */
  ownScript: (name: string) => string | undefined;
  /** Keyed, so that nobody who reads the database can try out what a secret might be. */
  hash: (text: string) => string;
}

/** The name of everything that a step is given: another name means that it has to run again. */
export function fingerprint(step: PlannedStep, options: FingerprintOptions): string | { missing: string } {
  const { readSecret, ownScript, hash } = options;
  try {
    const { files } = fillSecrets(step.files, readSecret);
    const script = ownScript(step.script);
    return hash(
      canonicalJson({
        args: step.args,
        env: step.env,
        files,
        contents: step.paths.map(hashTree),
        ...(script === undefined ? {} : { script: hashTree(script) }),
      }),
    );
  } catch (error) {
    const { code, message } = toRailheadError(error);
    const why = code === 'RH_INTERNAL' && error instanceof Error ? error.message : message;
    return { missing: why };
  }
}

/** A chart is a few hundred files; a folder with more is something else. */
const MOST_FILES = 5000;

/** A file, or a folder with all that is in it. */
export function hashTree(path: string): string {
  const hash = createHash('sha256');
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new Error(`${path} is not there`);
  if (stat.isFile()) return hash.update(readFileSync(path)).digest('hex');
  const names = readdirSync(path, { recursive: true, encoding: 'utf8' }).sort();
  if (names.length > MOST_FILES) throw new Error(`${path} is no chart: it has ${names.length} files`);
  for (const name of names) {
    const file = join(path, name);
    if (!statSync(file, { throwIfNoEntry: false })?.isFile()) continue;
    hash.update(`${JSON.stringify(name)} `).update(createHash('sha256').update(readFileSync(file)).digest());
  }
  return hash.digest('hex');
}
