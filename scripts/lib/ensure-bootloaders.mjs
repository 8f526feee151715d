// Run by every start: are the boot loaders there that the defaults need? Only if not, the rest is loaded.
import { statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { NEEDED } from './bootloaders/table.mjs';
import { errorText, read, say } from './files.mjs';

/** A start does not wait longer: it can do without, and says so. */
const DEADLINE_MS = 180_000;

/**
 * Gets the boot loaders if one that the defaults need is missing. What can't be had is said; it never fails.
 *
 * @param {{ root: string, bootDir?: string }} where root: the checkout
 * @returns {Promise<void>}
 */
export async function ensureBootloaders({ root, bootDir = join(root, 'boot') }) {
  const missing = NEEDED.filter((file) => !hasContent(join(bootDir, file)));
  if (missing.length === 0 || process.env.RAILHEAD_NO_APT === '1') return;
  say(`Getting boot loaders into ${bootDir}, because ${missing.join(', ')} is not there…`);
  try {
    const { fillBootFolder } = await import('./bootloaders/fill.mjs');
    const { formatKept, formatMissing } = await import('./bootloaders/report.mjs');
    const signal = AbortSignal.timeout(DEADLINE_MS);
    const rows = await fillBootFolder({ bootDir, log: say, signal });
    for (const line of formatKept(rows, bootDir)) say(line);
    for (const line of formatMissing(rows, bootDir)) say(line);
    const written = rows.filter((row) => row.written).length;
    if (written > 0) say(`${written} boot loader files are in ${bootDir} now.`);
  } catch (error) {
    say(
      `BOOT LOADERS ARE MISSING (${missing.join(', ')}), so machines can't boot: ${errorText(error)}. Try \`npm run bootloaders\`. The start goes on.`,
    );
  }
}

/** @param {string} path */
function hasContent(path) {
  return (statSync(path, { throwIfNoEntry: false })?.size ?? 0) > 0;
}

/**
 * Whether these arguments of `railhead` start the server.
 *
 * @param {string[]} args
 */
export function startsServer(args) {
  return args[0] === 'up' && !args.includes('--help') && !args.includes('-h');
}

/**
 * The folder that the settings name (server/settings.ts): flag, environment, file, default. Only what can be seen
 * without a YAML parser: if it is wrong, the server says which file it misses.
 *
 * @param {{ root: string, args: string[], env?: NodeJS.ProcessEnv, cwd?: string }} where
 * @returns {string}
 */
export function bootFolder({ root, args, env = process.env, cwd = process.cwd() }) {
  const given = flag(args, '--boot') || env.RAILHEAD_BOOT;
  if (given) return resolve(cwd, given);
  const config = flag(args, '--config') || env.RAILHEAD_CONFIG;
  const file = config ? resolve(cwd, config) : join(root, 'railhead.yaml');
  const line = /^boot:[ \t]+(?:'([^']+)'|"([^"\\]+)"|([^'"#\s][^#\r\n]*?))[ \t]*(?:#.*)?\r?$/m.exec(
    read(file) ?? '',
  );
  const named = line?.[1] ?? line?.[2] ?? line?.[3];
  return named === undefined ? join(root, 'boot') : resolve(dirname(file), named);
}

/**
 * @param {string[]} args
 * @param {string} name
 * @returns {string | undefined} the last one, as it counts
 */
function flag(args, name) {
  let value;
  for (const [index, arg] of args.entries()) {
    if (arg === name) value = args[index + 1];
    else if (arg.startsWith(`${name}=`)) value = arg.slice(name.length + 1);
  }
  return value;
}
