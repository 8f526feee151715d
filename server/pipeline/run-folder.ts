import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Where a run finds its kubeconfig and its values: a folder that only its owner may look into, gone when the run is
 * over. What a killed appliance has left is removed at its next start.
 */
export class RunFolders {
  readonly #dir: string;

  constructor(dir: string) {
    this.#dir = dir;
  }

  async clear(): Promise<void> {
    await rm(this.#dir, { recursive: true, force: true });
  }

  async with<T>(run: string, work: (folder: RunFolder) => Promise<T>): Promise<T> {
    const dir = join(this.#dir, run);
    await mkdir(dir, { recursive: true, mode: 0o700 });
    try {
      return await work(new RunFolder(dir));
    } finally {
      await rm(dir, { recursive: true, force: true, maxRetries: 3 });
    }
  }
}

export class RunFolder {
  readonly dir: string;

  constructor(dir: string) {
    this.dir = dir;
  }

  async put(name: string, content: string): Promise<string> {
    const path = join(this.dir, name);
    await writeFile(path, content, { mode: 0o600, flag: 'wx' });
    return path;
  }
}
