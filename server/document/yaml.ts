import { constructFromEvents, EVENT_ID, type Event, parseEvents, YAMLException } from 'js-yaml';
import type { Place, Problem } from './problem.ts';
import { aliasBomb } from './yaml-aliases.ts';
import { COLLECTION_AS_KEY, explainYamlFault } from './yaml-fault.ts';
import { endOf, lineStarts, type PlacedNode, placeAt, placeNodes } from './yaml-places.ts';
import { MAX_DEPTH, YAML_SCHEMA } from './yaml-schema.ts';

/** A path from the root of a document to a value in it. */
export type Path = readonly (string | number)[];

/**
 * A parsed YAML file that still knows where everything stood.
 * Values come from js-yaml; places are worked out from its events, and only when somebody asks.
 */
export class YamlDocument {
  readonly file: string;
  readonly value: unknown;
  readonly #text: string;
  readonly #events: Event[];
  #root: PlacedNode | undefined;
  #lineStarts: number[] | undefined;

  constructor(file: string, text: string, events: Event[], value: unknown) {
    this.file = file;
    this.value = value;
    this.#text = text;
    this.#events = events;
  }

  /** Where the value at `path` starts; where its nearest existing ancestor does, when it isn't there itself. */
  placeOf(path: Path): Place {
    return this.#placeAt(this.#find(path).node.start);
  }

  /** Where the last key of `path` starts: the place to point at when the key itself is wrong. */
  placeOfKey(path: Path): Place {
    const { node, depth } = this.#find(path);
    return this.#placeAt(depth === path.length && node.keyStart >= 0 ? node.keyStart : node.start);
  }

  /** The scalar at `path` exactly as it was written (`1.30`, not 1.3), or `undefined` if there is none. */
  textOf(path: Path): string | undefined {
    const { node, depth } = this.#find(path);
    return depth === path.length ? node.text : undefined;
  }

  #find(path: Path): { node: PlacedNode; depth: number } {
    this.#root ??= placeNodes(this.#text, this.#events);
    let node = this.#root;
    let depth = 0;
    for (const step of path) {
      const child = node.children?.get(step);
      if (child === undefined) break;
      node = child;
      depth++;
    }
    return { node, depth };
  }

  #placeAt(offset: number): Place {
    this.#lineStarts ??= lineStarts(this.#text);
    return { file: this.file, ...placeAt(this.#lineStarts, offset) };
  }
}

export type YamlResult = { document: YamlDocument } | { problem: Problem };

export interface YamlLimits {
  /**
   * How large the document may be once every alias is written out (stops "billion laughs"): each value counts as
   * one, long text as one for every 64 characters.
   */
  maxNodes: number;
}

export const DEFAULT_LIMITS: YamlLimits = { maxNodes: 5_000_000 };

/** Reads one YAML document. An empty file is a document whose value is `undefined`. */
export function parseYaml(file: string, given: string, limits: YamlLimits = DEFAULT_LIMITS): YamlResult {
  // Editors show no byte order mark, so it must not count as a column.
  const text = given.startsWith('\uFEFF') ? given.slice(1) : given;
  const fail = (message: string, offset: number): YamlResult => ({
    problem: { severity: 'error', file, ...placeAt(lineStarts(text), offset), subject: '', message },
  });
  try {
    const events = parseEvents(text, { filename: file, maxDepth: MAX_DEPTH });
    const second = secondDocument(text, events);
    if (second !== undefined)
      return fail('more than one YAML document in a file; put each in a file of its own', second);
    const key = collectionAsKey(events);
    if (key !== undefined) return fail(`not valid YAML: ${COLLECTION_AS_KEY}`, key);
    const bomb = aliasBomb(text, events, limits.maxNodes);
    if (bomb !== undefined) return fail(bomb.message, bomb.offset);
    const values = constructFromEvents(events, {
      source: text,
      filename: file,
      schema: YAML_SCHEMA,
      // Merges are bounded by aliasBomb; js-yaml's own limit is less than 10,000 hosts that share a block need.
      maxTotalMergeKeys: -1,
    });
    // A document with nothing but comments has the value null; that is no mistake.
    return { document: new YamlDocument(file, text, events, values[0] ?? undefined) };
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const { message, offset } = explainYamlFault(error.reason, text, error.mark?.position ?? 0);
    return fail(`not valid YAML: ${message}`, offset);
  }
}

/** Where a second document starts, or `undefined`. */
function secondDocument(text: string, events: Event[]): number | undefined {
  const index = events.findIndex((event, at) => event.type === EVENT_ID.DOCUMENT && at > 0);
  if (index < 0) return undefined;
  const separator = /^---/gm;
  separator.lastIndex = events.slice(0, index).reduce((end, event) => Math.max(end, endOf(event)), 0);
  return separator.exec(text)?.index ?? text.length;
}

/** Where a list or mapping is used as a key, or `undefined`. js-yaml refuses it, too, but doesn't say where. */
function collectionAsKey(events: Event[]): number | undefined {
  const open: { isMapping: boolean; keyIsNext: boolean }[] = [];
  for (const event of events) {
    if (event.type === EVENT_ID.POP) {
      open.pop();
      continue;
    }
    const parent = open.at(-1);
    const isCollection = event.type === EVENT_ID.MAPPING || event.type === EVENT_ID.SEQUENCE;
    if (parent?.isMapping) {
      if (parent.keyIsNext && isCollection) return event.start;
      parent.keyIsNext = !parent.keyIsNext;
    }
    if (isCollection || event.type === EVENT_ID.DOCUMENT) {
      open.push({ isMapping: event.type === EVENT_ID.MAPPING, keyIsNext: true });
    }
  }
  return undefined;
}
