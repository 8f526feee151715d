// Whether a part runs: one of the system, or one in an unpacked tree, with the libraries that are in there.
import { readdirSync, utimesSync } from 'node:fs';
import { basename, delimiter, join } from 'node:path';
import { folders, newestFirst } from './cache.mjs';
import { isProgram, run } from './run.mjs';

/** @typedef {import('./parts.mjs').Part} Part */
/** @typedef {import('./parts.mjs').PartSpec} PartSpec */

/**
 * @param {PartSpec} spec
 * @param {string} root '' or an unpacked tree
 * @param {Part['source']} source
 * @returns {Promise<Part | undefined>}
 */
export async function usable(spec, root, source) {
  const libraries = root ? libraryFolders(root).join(delimiter) : '';
  const loader = root && spec.ownLibrary ? loaderOf(root) : [];
  /** @type {Record<string, string>} */
  const env = libraries && loader.length === 0 ? { LD_LIBRARY_PATH: libraries } : {};
  for (const path of spec.find(root)) {
    const [program, ...args] = spec.probe(path);
    if (!isProgram(program)) continue;
    const [first = program, ...rest] = [...loader, program, ...args];
    const { code, out } = await run(first, rest, { env, seconds: 20 });
    const version = code === 0 ? spec.version.exec(out)?.[1] : undefined;
    if (version !== undefined) return { path, env, loader, version, source };
  }
  return undefined;
}

/**
 * One that was unpacked before, and is now used again.
 *
 * @param {PartSpec} spec
 * @param {string} root
 * @returns {Promise<Part | undefined>}
 */
export async function keptPart(spec, root) {
  const part = await usable(spec, root, 'unpacked');
  if (part === undefined) return undefined;
  markUsed(root);
  return { ...part, package: packageVersion(root) };
}

/**
 * @param {PartSpec} spec
 * @param {string} kept
 */
export async function newestKept(spec, kept) {
  for (const root of newestFirst(folders(kept))) {
    const part = await keptPart(spec, root);
    if (part) return part;
  }
  return undefined;
}

/**
 * The name of the tree of a package.
 *
 * @param {{ version: string, architecture: string }} main
 */
export function treeName({ version, architecture }) {
  return `${version}_${architecture}`.replaceAll(/[^\w.+~-]/g, '_');
}

/** @param {string} root */
function packageVersion(root) {
  return basename(root)
    .replace(/_\w+$/, '')
    .replace(/^(\d+)_/, '$1:');
}

/**
 * Trees that nobody used for a day can go; another run may still use a younger one.
 *
 * @param {string} root
 */
function markUsed(root) {
  try {
    utimesSync(root, new Date(), new Date());
  } catch {
    // of another user, who then keeps it
  }
}

/**
 * What the programs say when they don't run.
 *
 * @param {PartSpec} spec
 * @param {string} root
 */
export async function complaint(spec, root) {
  for (const path of spec.find(root)) {
    const [program, ...args] = spec.probe(path);
    if (!isProgram(program)) continue;
    const { out, err } = await run(program, args, {
      env: { LD_LIBRARY_PATH: libraryFolders(root).join(delimiter) },
      seconds: 20,
    });
    return (err || out).trim().split('\n')[0];
  }
  return 'its programs are not in the packages';
}

/**
 * @param {string} root an unpacked tree
 * @returns {string[]}
 */
function libraryFolders(root) {
  return ['usr/lib', 'lib'].flatMap((folder) =>
    folders(join(root, folder))
      .filter((path) => /-linux-gnu\w*$/.test(path))
      // systemd has a library that only its own programs use.
      .flatMap((path) => [path, ...folders(path).filter((below) => below.endsWith('/systemd'))]),
  );
}

/**
 * @param {string} root an unpacked tree with a C library
 * @returns {string[]} what starts its programs with that library
 */
function loaderOf(root) {
  const libraries = libraryFolders(root);
  for (const folder of libraries) {
    const name = readdirSync(folder).find((file) => /^ld-linux\S*\.so\.\d+$/.test(file));
    if (name !== undefined) return [join(folder, name), '--library-path', libraries.join(delimiter)];
  }
  return [];
}
