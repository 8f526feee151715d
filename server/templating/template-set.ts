import { didYouMean } from '../document/nearest.ts';
import type { Problem } from '../document/problem.ts';
import { problemAt, TemplateFault } from './fault.ts';
import type { IncludeNode, Node } from './nodes.ts';
import { readTemplate, type Template } from './read-template.ts';
import { SkeletonCache } from './skeleton-cache.ts';

export interface TemplateSetOptions {
  /** What a template is called in messages; its name, unless told. */
  fileOf?: (name: string) => string;
}

/**
 * Templates that may include each other, by name. Each is read once, when it is first used; a set never changes, so a
 * changed file means a new set.
 */
export class TemplateSet {
  /** Rendered YAML that was parsed before; see `skeleton-cache.ts`. */
  readonly skeletons = new SkeletonCache();
  readonly #sources: ReadonlyMap<string, string | Uint8Array>;
  readonly #fileOf: (name: string) => string;
  /** A template, or the fault that reading it ended with. */
  readonly #read = new Map<string, Template | TemplateFault>();
  /** Templates whose partials were all followed. */
  readonly #followed = new Set<string>();

  constructor(
    sources: ReadonlyMap<string, string | Uint8Array>,
    { fileOf = (name) => name }: TemplateSetOptions = {},
  ) {
    this.#sources = sources;
    this.#fileOf = fileOf;
  }

  get names(): string[] {
    return [...this.#sources.keys()];
  }

  has(name: string): boolean {
    return this.#sources.has(name);
  }

  /** What is wrong with the templates as they are written, each looked at once. */
  check(): Problem[] {
    const problems = new Map<string, Problem>();
    for (const name of this.#sources.keys()) {
      try {
        this.open(name);
      } catch (error) {
        if (!(error instanceof TemplateFault)) throw error;
        const { place, message } = error;
        problems.set(`${place.file}:${place.line}:${place.col}:${message}`, problemAt(place, message));
      }
    }
    return [...problems.values()];
  }

  /** A template that is right, and all that it includes is. Throws `TemplateFault`. */
  open(name: string): Template {
    const template = this.#get(name);
    if (template === undefined) {
      const hint = didYouMean(name, this.#sources.keys());
      throw new TemplateFault(
        { file: this.#fileOf(name), line: 0, col: 0 },
        `there is no template "${name}"${hint}`,
      );
    }
    this.#follow(name, template, []);
    return template;
  }

  /** For templates that were opened, whose partials are known to be there. */
  readonly partial = (node: IncludeNode): readonly Node[] => this.#get(node.name)!.nodes;

  #get(name: string): Template | undefined {
    let found = this.#read.get(name);
    if (found === undefined) {
      const source = this.#sources.get(name);
      if (source === undefined) return undefined;
      found = readOrFault(this.#fileOf(name), source);
      this.#read.set(name, found);
    }
    if (found instanceof TemplateFault) throw found;
    return found;
  }

  /** Partials are named in the text, so whether they go in circles shows before anything is run. */
  #follow(name: string, template: Template, above: readonly string[]): void {
    if (this.#followed.has(name)) return;
    const chain = [...above, name];
    for (const include of template.includes) {
      if (chain.includes(include.name)) {
        const circle = [...chain.slice(chain.indexOf(include.name)), include.name].join(' > ');
        throw new TemplateFault(include.place, `this partial includes itself: ${circle}`);
      }
      const partial = this.#get(include.name);
      if (partial === undefined) {
        const hint = didYouMean(include.name, this.#sources.keys());
        throw new TemplateFault(include.place, `there is no template "${include.name}"${hint}`);
      }
      this.#follow(include.name, partial, chain);
    }
    this.#followed.add(name);
  }
}

function readOrFault(file: string, source: string | Uint8Array): Template | TemplateFault {
  try {
    return readTemplate(file, typeof source === 'string' ? withoutMark(source) : decode(file, source));
  } catch (error) {
    if (error instanceof TemplateFault) return error;
    throw error;
  }
}

function decode(file: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new TemplateFault({ file, line: 0, col: 0 }, 'not UTF-8; save it as UTF-8 text');
  }
}

/** Editors show no byte order mark, so it must not count as a column. */
function withoutMark(source: string): string {
  return source.startsWith('\uFEFF') ? source.slice(1) : source;
}
