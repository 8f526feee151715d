import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { zstdDecompressSync } from 'node:zlib';

/** A module of a kernel, ready for `insmod`. */
export interface KernelModule {
  name: string;
  content: Buffer;
}

/**
 * The modules that these drivers need, each after those that it depends on. A driver that is built into the kernel has
 * none. A package that is only unpacked has no `modules.dep`, so the modules themselves are asked.
 */
export function modulesFor(kernel: string, drivers: readonly string[]): KernelModule[] {
  const tree = moduleTree(kernel);
  const files = new Map(
    readdirSync(tree, { recursive: true, encoding: 'utf8' }).flatMap((path) => {
      const name = moduleName(path);
      return name === undefined ? [] : [[name, join(tree, path)] as const];
    }),
  );
  const builtIn = new Set(readFileSync(join(tree, 'modules.builtin'), 'utf8').split('\n').map(moduleName));
  const contents = new Map<string, Buffer>();
  const order = loadOrder(drivers, (name) => {
    const file = files.get(name);
    if (file === undefined) {
      if (builtIn.has(name)) return undefined;
      throw new Error(`the kernel ${basename(kernel)} has no module ${name}`);
    }
    const content = unpacked(file);
    contents.set(name, content);
    return dependenciesOf(content);
  });
  return order.map((name) => ({ name, content: contents.get(name)! }));
}

/**
 * These and all that they depend on, dependencies first. Pure.
 *
 * @param dependencies of a module; `undefined` for what is built into the kernel, and is not loaded
 */
export function loadOrder(
  wanted: readonly string[],
  dependencies: (name: string) => readonly string[] | undefined,
): string[] {
  const done = new Set<string>();
  const order: string[] = [];
  const visit = (name: string, above: readonly string[]): void => {
    if (above.includes(name)) {
      throw new Error(`modules depend on each other: ${[...above, name].join(' -> ')}`);
    }
    if (done.has(name)) return;
    const needed = dependencies(name);
    for (const one of needed ?? []) visit(one, [...above, name]);
    done.add(name);
    if (needed !== undefined) order.push(name);
  };
  for (const name of wanted) visit(name, []);
  return order;
}

/** What a module says that it depends on: `depends=a,b` among the strings of its section `.modinfo`. Pure. */
export function dependenciesOf(module: Buffer): string[] {
  const said = /(?:^|\W)depends=([\w,-]*)\0/.exec(module.toString('latin1'))?.[1];
  if (said === undefined) throw new Error('this is not a kernel module: it does not say what it depends on');
  return said.split(',').filter(Boolean).map(withUnderscores);
}

/** Files are named with dashes or underscores, modules always with underscores. */
function moduleName(path: string): string | undefined {
  const name = /([^/]+)\.ko(\.\w+)?$/.exec(path)?.[1];
  return name === undefined ? undefined : withUnderscores(name);
}

function withUnderscores(name: string): string {
  return name.replaceAll('-', '_');
}

function moduleTree(kernel: string): string {
  const root = dirname(dirname(kernel));
  const version = basename(kernel).replace('vmlinuz-', '');
  const tree = ['lib/modules', 'usr/lib/modules']
    .map((place) => join(root, place, version))
    .find((path) => existsSync(path));
  if (tree === undefined) throw new Error(`the kernel ${kernel} has no modules`);
  return tree;
}

function unpacked(file: string): Buffer {
  if (file.endsWith('.ko')) return readFileSync(file);
  if (file.endsWith('.zst')) return zstdDecompressSync(readFileSync(file));
  if (!file.endsWith('.xz')) throw new Error(`${file}: unknown compression`);
  const { status, stdout, stderr, error } = spawnSync('xz', ['-dc', file], { maxBuffer: 1e8 });
  if (status !== 0) throw new Error(`${file} could not be unpacked: ${error?.message ?? stderr}`);
  return stdout;
}
