// Keeps the arrows of the architecture: http, web, cli, tftp -> rooms -> store. Run by `npm test`.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Which other rooms each room under server/ may import from. Files directly under server/ are rooms of one file.
 * A room that isn't listed here, and an import that isn't allowed here, are faults.
 * @type {Record<string, string[]>}
 */
export const ALLOWED = {
  // leaves: know nothing of Railhead
  'errors.ts': [],
  'version.ts': [],
  'secret-file.ts': ['errors.ts'],
  document: [],
  templating: ['document', 'errors.ts'],
  net: [],
  // the store knows tables, not what they mean
  store: ['errors.ts'],
  'settings.ts': ['document'],
  'resolve-settings.ts': ['document', 'errors.ts', 'settings.ts'],
  'logger.ts': ['settings.ts'],
  'data-folder.ts': ['errors.ts'],
  // rooms
  events: ['store', 'document'],
  access: ['errors.ts', 'events', 'store', 'secret-file.ts'],
  inventory: ['document', 'errors.ts', 'events', 'net', 'store'],
  machine: ['document', 'errors.ts', 'events', 'inventory', 'store'],
  netboot: ['document', 'errors.ts', 'events', 'inventory', 'machine', 'net', 'store', 'templating'],
  content: ['errors.ts', 'store'],
  assets: ['content', 'document', 'errors.ts', 'events', 'inventory', 'net', 'netboot', 'store'],
  feed: ['access', 'content', 'errors.ts', 'events', 'inventory', 'secret-file.ts'],
  simulation: ['document', 'errors.ts', 'inventory', 'machine', 'net', 'netboot', 'tftp'],
  ignition: ['document', 'errors.ts', 'events', 'feed', 'inventory', 'store', 'templating'],
  cluster: [
    'document',
    'errors.ts',
    'events',
    'ignition',
    'inventory',
    'machine',
    'secret-file.ts',
    'store',
    'templating',
  ],
  backup: ['data-folder.ts', 'errors.ts', 'secret-file.ts', 'store', 'version.ts'],
  pipeline: ['cluster', 'document', 'errors.ts', 'events', 'inventory', 'store'],
  doctor: [
    'assets',
    'data-folder.ts',
    'document',
    'errors.ts',
    'inventory',
    'net',
    'netboot',
    'pipeline',
    'settings.ts',
    'store',
    'tftp',
    'version.ts',
  ],
  'readiness.ts': ['document', 'errors.ts', 'events', 'inventory'],
  // edges: the network and people
  tftp: ['errors.ts', 'events', 'inventory', 'net', 'netboot'],
  web: [
    'assets',
    'cluster',
    'doctor',
    'document',
    'events',
    'inventory',
    'machine',
    'net',
    'netboot',
    'pipeline',
    'readiness.ts',
    'tftp',
  ],
  http: [
    'access',
    'assets',
    'cluster',
    'content',
    'doctor',
    'document',
    'errors.ts',
    'events',
    'feed',
    'ignition',
    'inventory',
    'machine',
    'net',
    'netboot',
    'pipeline',
    'readiness.ts',
    'simulation',
    'store',
    'tftp',
    'web',
  ],
  cli: ['*'],
  app: ['*'],
  'main.ts': ['cli', 'errors.ts'],
};

/** Only main.ts touches the process. Versions, ids and timings are no input. */
const PROCESS_USE = /\bprocess\.(argv|env|exit|exitCode|on|stdin|stdout|stderr|cwd|chdir|kill)\b/;

/**
 * @param {string} serverDir
 * @returns {string[]} one line for each fault
 */
export function findFaults(serverDir) {
  const faults = [];
  for (const file of sourceFiles(serverDir)) {
    const name = relative(serverDir, file).split(sep).join('/');
    const room = roomOf(name);
    const allowed = ALLOWED[room];
    if (allowed === undefined) {
      faults.push(`server/${name}: the room "${room}" is not in the architecture (scripts/check-arrows.mjs)`);
      continue;
    }
    readFileSync(file, 'utf8')
      .split('\n')
      .forEach((line, index) => {
        const at = `server/${name}:${index + 1}`;
        const target = /\b(?:from|import)\s*\(?\s*'(\.[^']+)'/.exec(line)?.[1];
        if (target !== undefined) {
          const path = normalize(join(dirname(name), target))
            .split(sep)
            .join('/');
          const other = roomOf(path);
          const fine =
            other === room || path.startsWith('../') || allowed.includes(other) || allowed.includes('*');
          if (!fine) faults.push(`${at}: ${room} must not import from ${other} (${target})`);
        }
        if (name !== 'main.ts' && PROCESS_USE.test(line))
          faults.push(`${at}: only main.ts touches the process`);
      });
  }
  return faults;
}

/** @param {string} name */
function roomOf(name) {
  return name.split('/')[0] ?? name;
}

/**
 * @param {string} dir
 * @returns {string[]}
 */
function sourceFiles(dir) {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(dir, name));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const faults = findFaults(join(dirname(dirname(fileURLToPath(import.meta.url))), 'server'));
  for (const fault of faults) console.error(fault);
  console.error(faults.length === 0 ? 'The arrows hold.' : `${faults.length} arrows point the wrong way.`);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
