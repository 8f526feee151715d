import { posix } from 'node:path';
import type { Path } from '../../document/yaml.ts';
import { makeDataUrl } from './data-url.ts';
import type { TreeEntry } from './files.ts';
import { isObject, type JsonObject, objectsIn } from './json.ts';
import type { Origins } from './origins.ts';
import { attempt, type Contents, setContents } from './resources.ts';

export interface Tree {
  local: string;
  to: string;
  path: Path;
}

/** Adds the files and links of folders to a config that has all its other files. */
export function plantTrees(
  trees: readonly Tree[],
  storage: JsonObject,
  contents: Contents,
  origins: Origins,
): void {
  if (trees.length === 0) return;
  const nodes = new Nodes(storage);
  for (const tree of trees) {
    const entries = attempt(() => contents.files.walk(tree.local), tree.path, contents.report) ?? [];
    for (const entry of entries) plant(entry, tree, nodes, contents, origins);
  }
}

function plant(entry: TreeEntry, tree: Tree, nodes: Nodes, contents: Contents, origins: Origins): void {
  const path = posix.join(tree.to, entry.path);
  const refuse = (why: string): void => contents.report.error(tree.path, `${JSON.stringify(path)}: ${why}`);
  if (entry.kind === 'other') return refuse('a tree may only contain files, folders and links');
  const list = entry.kind === 'file' ? 'files' : 'links';
  const node = nodes.take(list, path, tree.path, origins);
  if (node === undefined || isFilled(node)) {
    return refuse('something else of that path is there already, or has contents of its own');
  }
  if (entry.kind === 'link') {
    node.target = entry.target;
    return;
  }
  const bytes = attempt(() => entry.read(), tree.path, contents.report);
  if (bytes === undefined) return;
  const resource = isObject(node.contents) ? node.contents : {};
  node.contents = resource;
  const isCompressed = typeof resource.compression === 'string' && resource.compression !== '';
  setContents(resource, makeDataUrl(bytes, isCompressed));
  node.mode ??= entry.isExecutable ? 0o755 : 0o644;
}

function isFilled(node: JsonObject): boolean {
  const source = isObject(node.contents) ? node.contents.source : undefined;
  return Boolean(source) || Boolean(node.target);
}

/** Files, folders and links of a config by their paths. */
class Nodes {
  readonly #storage: JsonObject;
  readonly #known = new Map<string, { list: string; node: JsonObject }>();

  constructor(storage: JsonObject) {
    this.#storage = storage;
    for (const list of ['files', 'directories', 'links']) {
      for (const node of objectsIn(storage[list])) this.#known.set(String(node.path), { list, node });
    }
  }

  /** The node of that kind, made if there is none; `undefined` if another kind has its path. */
  take(list: 'files' | 'links', path: string, from: Path, origins: Origins): JsonObject | undefined {
    const known = this.#known.get(path);
    if (known !== undefined) return known.list === list ? known.node : undefined;
    const node: JsonObject = { path };
    origins.set(node, from);
    const nodes = this.#storage[list];
    if (Array.isArray(nodes)) nodes.push(node);
    else this.#storage[list] = [node];
    this.#known.set(path, { list, node });
    return node;
  }
}
