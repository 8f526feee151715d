import { dirname, resolve } from 'node:path';
import { nearest } from './document/nearest.ts';
import { formatProblem, quote } from './document/problem.ts';
import { isRecord, Shape } from './document/shape.ts';
import { parseYaml } from './document/yaml.ts';
import { RailheadError } from './errors.ts';
import {
  declarationOf,
  envOf,
  flagOf,
  SETTING_NAMES,
  type SettingName,
  type Settings,
  SettingsSchema,
} from './settings.ts';

export interface SettingSources {
  /** Where the appliance's own files are: defaults start here. */
  root: string;
  cwd: string;
  /** As they came from the command line. */
  flags: Partial<Record<SettingName, string | boolean>>;
  env: Record<string, string | undefined>;
  /** The settings file, if there is one. */
  file?: { path: string; text: string } | undefined;
}

const SHAPE = new Shape(SettingsSchema);

/** file < environment < flags. Every fault is said at once, with where it came from. */
export function resolveSettings(sources: SettingSources): Settings {
  const faults: string[] = [];
  const settings: Record<string, unknown> = {};
  for (const name of SETTING_NAMES) {
    const { default: fallback, path: isPath } = declarationOf(name);
    if (fallback !== undefined) settings[name] = isPath ? resolve(sources.root, String(fallback)) : fallback;
  }
  Object.assign(settings, fromFile(sources, faults));
  for (const name of SETTING_NAMES) {
    const env = envOf(name);
    take(name, variable(sources.env, env), env, sources.cwd, settings, faults);
    take(name, sources.flags[name], flagOf(name), sources.cwd, settings, faults);
  }
  faults.push(...unknownVariables(sources.env));
  if (faults.length > 0) {
    throw new RailheadError('RH_SETTINGS_INVALID', faults.join('\n'), {
      hint: '`npx railhead up --help` lists every setting.',
    });
  }
  return settings as Settings;
}

/** Those that are not ours alone are often written in small letters. */
function variable(env: SettingSources['env'], name: string): string | undefined {
  const given = env[name] || (name.startsWith(PREFIX) ? undefined : env[name.toLowerCase()]);
  return given === '' ? undefined : given;
}

function fromFile({ file }: SettingSources, faults: string[]): Record<string, unknown> {
  if (file === undefined) return {};
  const parsed = parseYaml(file.path, file.text);
  if ('problem' in parsed) {
    faults.push(formatProblem(parsed.problem));
    return {};
  }
  const { document } = parsed;
  const given = document.value ?? {};
  // The file may leave anything out: only what it says is judged, on top of harmless defaults.
  const value = isRecord(given) ? { ...requiredDefaults(), ...given } : given;
  const read = SHAPE.read(document, [], '', value);
  if ('problems' in read) {
    faults.push(...read.problems.map(formatProblem));
    return {};
  }
  const result: Record<string, unknown> = {};
  for (const name of Object.keys(given as object) as SettingName[]) {
    const setting = read.value[name];
    result[name] = declarationOf(name).path ? resolve(dirname(file.path), String(setting)) : setting;
  }
  return result;
}

function requiredDefaults(): Record<string, unknown> {
  return Object.fromEntries(
    SETTING_NAMES.flatMap((name) => {
      const { default: fallback } = declarationOf(name);
      return fallback === undefined ? [] : [[name, fallback]];
    }),
  );
}

function take(
  name: SettingName,
  given: string | boolean | undefined,
  source: string,
  cwd: string,
  settings: Record<string, unknown>,
  faults: string[],
): void {
  if (given === undefined) return;
  const declared = declarationOf(name);
  const value = parseText(declared.type, given);
  const shape = new Shape(declared);
  if (!shape.accepts(value)) {
    const wanted =
      declared.expected ??
      declared.enum?.join(', ') ??
      (declared.type === 'boolean' ? 'true or false' : 'a value');
    const got = declared.secret ? 'something else' : quote(String(given));
    faults.push(`${source}: expected ${wanted}, got ${got}`);
    return;
  }
  settings[name] = declared.path ? resolve(cwd, String(value)) : value;
}

function parseText(type: string | undefined, given: string | boolean): unknown {
  if (typeof given === 'boolean') return given;
  if (type === 'integer') return /^\d+$/.test(given) ? Number(given) : given;
  if (type === 'boolean') return given === 'true' ? true : given === 'false' ? false : given;
  return given;
}

/** Variables that aren't settings but share the prefix. */
const OTHER_VARIABLES = [
  'RAILHEAD_CONFIG',
  'RAILHEAD_SERVER',
  'RAILHEAD_CACHE',
  'RAILHEAD_NO_APT',
  'RAILHEAD_PASSPHRASE',
  'RAILHEAD_TEST_PARTS',
];

const PREFIX = 'RAILHEAD_';

/** A misspelt variable would be silently without effect; only near misses are refused, others may be anybody's. */
function unknownVariables(env: Record<string, string | undefined>): string[] {
  const known = new Set([...SETTING_NAMES.map(envOf), ...OTHER_VARIABLES]);
  // Compared without the prefix, which would make everything look alike: Kubernetes sets RAILHEAD_PORT on its own.
  const words = [...known].filter((name) => name.startsWith(PREFIX)).map((name) => name.slice(PREFIX.length));
  return Object.keys(env)
    .filter((name) => name.startsWith(PREFIX) && !known.has(name))
    .flatMap((name) => {
      const guess = nearest(name.slice(PREFIX.length), words);
      return guess === undefined ? [] : [`${name}: no such setting; did you mean "${PREFIX}${guess}"?`];
    });
}
