import { accessSync, constants, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { ScriptState } from './plan.ts';

const BUILT_IN = fileURLToPath(new URL('../../scripts/post-install', import.meta.url));

/** The executables of the steps: a person's own folder first, then the one that comes with Railhead. */
export class Scripts {
  readonly #folders: readonly string[];

  constructor(folder: string) {
    this.#folders = folder === BUILT_IN ? [BUILT_IN] : [folder, BUILT_IN];
  }

  /** Where a step's file is, whether or not it can be run. */
  path(name: string): string | undefined {
    return this.#folders.map((folder) => join(folder, name)).find(isFile);
  }

  /** One that is Railhead's own changes only with Railhead. */
  isBuiltIn(name: string): boolean {
    return this.path(name) === join(BUILT_IN, name);
  }

  state(name: string): ScriptState {
    const path = this.path(name);
    const refuse = (fault: string): ScriptState => ({ ok: false, fault, known: this.#names() });
    if (path === undefined) return refuse(`there is no step "${name}" in ${this.#folders[0]}`);
    try {
      accessSync(path, constants.X_OK);
      return { ok: true };
    } catch {
      return refuse(`${path} is not executable: chmod +x ${path}`);
    }
  }

  #names(): string[] {
    return this.#folders.flatMap((folder) => {
      try {
        return readdirSync(folder).filter((name) => isFile(join(folder, name)));
      } catch {
        return [];
      }
    });
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false;
}
