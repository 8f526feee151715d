import type { Path } from '../../document/yaml.ts';
import { isObject, type Json, type JsonObject } from './json.ts';

/** Which part of the document each object of the config came from: to say where a fault of the config has its cause. */
export class Origins {
  readonly #paths = new WeakMap<object, Path>();

  set(made: JsonObject, path: Path): void {
    this.#paths.set(made, path);
  }

  /** The path in the document for a path in the config such as `$.storage.files.0.path`. */
  of(config: JsonObject, configPath: string): Path {
    let node: Json | undefined = config;
    let path: Path = [];
    for (const step of configPath.split('.').slice(1)) {
      const index = Array.isArray(node) ? Number(step) : step;
      node = Array.isArray(node) ? node[Number(step)] : isObject(node) ? node[step] : undefined;
      const known = isObject(node) ? this.#paths.get(node) : undefined;
      path = known ?? [...path, typeof index === 'number' ? index : toSnakeCase(index)];
    }
    return path;
  }
}

function toSnakeCase(name: string): string {
  return name.replaceAll(/MiB|[A-Z]/g, (capital) => `_${capital.toLowerCase()}`);
}
