import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { TemplateSet } from './template-set.ts';

/** Templates as they are at one moment. */
export interface TemplatesNow {
  /** Changes when any of them does. */
  version: number;
  set: TemplateSet;
}

export interface TemplateFoldersOptions {
  /** Those that come with Railhead, then a person's own, which win by name. */
  folders: readonly { dir: string; shownAs: string }[];
  now: () => number;
}

/** Those that come with Railhead; a person's own folder wins by name. */
const BUILT_IN = fileURLToPath(new URL('../../templates', import.meta.url));

export function templateFolders(own: string): { dir: string; shownAs: string }[] {
  const builtIn = { dir: BUILT_IN, shownAs: 'templates' };
  return own === BUILT_IN ? [builtIn] : [builtIn, { dir: own, shownAs: own }];
}

/** Edits are taken at the next look; looking at every request would cost more than rendering. */
const LOOK_EVERY_MS = 500;
const PARTS = ['menus', 'ignition', 'snippets', 'kubeadm'];

/** The templates of all folders, read again when a file has changed, come or gone. */
export class TemplateFolders {
  readonly #options: TemplateFoldersOptions;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #stamp = '';
  #current: TemplatesNow | undefined;

  constructor(options: TemplateFoldersOptions) {
    this.#options = options;
  }

  get folders(): TemplateFoldersOptions['folders'] {
    return this.#options.folders;
  }

  current(): TemplatesNow {
    const now = this.#options.now();
    if (this.#current !== undefined && now - this.#lookedAt < LOOK_EVERY_MS) return this.#current;
    this.#lookedAt = now;
    const found = this.#options.folders.flatMap(({ dir, shownAs }) => filesOf(dir, shownAs));
    const stamp = found.map(({ path, changed }) => `${path} ${changed}`).join('\n');
    if (this.#current === undefined || stamp !== this.#stamp) {
      this.#stamp = stamp;
      this.#current = this.#read(found);
    }
    return this.#current;
  }

  #read(found: readonly FoundFile[]): TemplatesNow {
    // Later folders win by name.
    const templates = found.filter(({ name }) => PARTS.includes(name.split('/')[0] ?? ''));
    const byName = new Map(templates.map((file) => [file.name, file]));
    const sources = new Map<string, Uint8Array>();
    for (const { name, path } of byName.values()) {
      const content = readIfStillThere(path);
      if (content !== undefined) sources.set(name, content);
    }
    return {
      version: (this.#current?.version ?? 0) + 1,
      set: new TemplateSet(sources, { fileOf: (name) => byName.get(name)?.shownAs ?? `templates/${name}` }),
    };
  }
}

interface FoundFile {
  /** `ignition/base.bu` */
  name: string;
  path: string;
  shownAs: string;
  changed: string;
}

/** All files, not only templates: these may take contents from any of them. */
function filesOf(dir: string, shownAs: string): FoundFile[] {
  return walk(dir).flatMap((name) => {
    const path = join(dir, name);
    const stat = statSync(path, { throwIfNoEntry: false });
    if (stat === undefined || !stat.isFile()) return [];
    const changed = `${stat.mtimeMs} ${stat.size} ${stat.ino}`;
    return [{ name, path, shownAs: join(shownAs, name), changed }];
  });
}

function walk(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort();
  } catch {
    return [];
  }
}

/** One that is removed this moment is one that isn't there. */
function readIfStillThere(path: string): Uint8Array | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}
