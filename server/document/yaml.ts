import {
  CORE_SCHEMA,
  constructFromEvents,
  EVENT_ID,
  type Event,
  getScalarValue,
  mergeTag,
  parseEvents,
  YAMLException,
} from 'js-yaml';
import type { Place, Problem } from './problem.ts';

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
  /** How many nodes the document may have once every alias is written out (stops "billion laughs"). */
  maxNodes: number;
}

export const DEFAULT_LIMITS: YamlLimits = { maxNodes: 5_000_000 };

const SCHEMA = CORE_SCHEMA.withTags(mergeTag);

/** Reads one YAML document. An empty file is a document whose value is `undefined`. */
export function parseYaml(file: string, text: string, limits: YamlLimits = DEFAULT_LIMITS): YamlResult {
  const fail = (message: string, place: { line: number; col: number }): YamlResult => ({
    problem: { severity: 'error', file, ...place, subject: '', message },
  });
  const start = { line: 1, col: 1 };
  try {
    const events = parseEvents(text, { filename: file });
    const documents = events.filter((event) => event.type === EVENT_ID.DOCUMENT).length;
    if (documents > 1)
      return fail('more than one YAML document in a file; put each in a file of its own', start);
    const bomb = aliasBomb(text, events, limits.maxNodes);
    if (bomb !== undefined) return fail(bomb.message, placeAt(lineStarts(text), bomb.offset));
    const values = constructFromEvents(events, { source: text, filename: file, schema: SCHEMA });
    // A document with nothing but comments has the value null; that is no mistake.
    return { document: new YamlDocument(file, text, events, values[0] ?? undefined) };
  } catch (error) {
    if (!(error instanceof YAMLException)) throw error;
    const { mark } = error;
    const place = mark === undefined ? start : { line: mark.line + 1, col: mark.column + 1 };
    return fail(`not valid YAML: ${error.reason}`, place);
  }
}

interface PlacedNode {
  start: number;
  keyStart: number;
  text?: string;
  children?: Map<string | number, PlacedNode>;
}

/** Builds the tree of places. An alias takes the place where it is used and the children of its anchor. */
function placeNodes(text: string, events: Event[]): PlacedNode {
  const root: PlacedNode = { start: 0, keyStart: -1 };
  const anchors = new Map<string, PlacedNode>();
  type Frame = {
    node: PlacedNode;
    mapping: boolean;
    index: number;
    key: { name: string; start: number } | null;
  };
  const stack: Frame[] = [];

  const attach = (node: PlacedNode): void => {
    const frame = stack.at(-1);
    if (frame === undefined) {
      root.start = node.start;
      if (node.children !== undefined) root.children = node.children;
      if (node.text !== undefined) root.text = node.text;
      return;
    }
    if (!frame.mapping) {
      frame.node.children!.set(frame.index++, node);
    } else if (frame.key === null) {
      frame.key = { name: node.text ?? '', start: node.start };
    } else {
      node.keyStart = frame.key.start;
      frame.node.children!.set(frame.key.name, node);
      frame.key = null;
    }
  };
  const remember = (event: { anchorStart: number; anchorEnd: number }, node: PlacedNode): void => {
    if (event.anchorStart >= 0) anchors.set(text.slice(event.anchorStart, event.anchorEnd), node);
  };

  for (const event of events) {
    switch (event.type) {
      case EVENT_ID.SCALAR: {
        const node: PlacedNode = {
          start: scalarStart(event, text),
          keyStart: -1,
          text: getScalarValue(text, event),
        };
        remember(event, node);
        attach(node);
        break;
      }
      case EVENT_ID.MAPPING:
      case EVENT_ID.SEQUENCE: {
        const node: PlacedNode = { start: event.start, keyStart: -1, children: new Map() };
        remember(event, node);
        attach(node);
        stack.push({ node, mapping: event.type === EVENT_ID.MAPPING, index: 0, key: null });
        break;
      }
      case EVENT_ID.ALIAS: {
        const target = anchors.get(text.slice(event.anchorStart, event.anchorEnd));
        // The event's range leaves out the asterisk.
        attach({ ...target, start: event.anchorStart - 1, keyStart: -1 });
        break;
      }
      case EVENT_ID.POP:
        stack.pop();
        break;
    }
  }
  return root;
}

/** Quoted scalars start at their quote, which the event's range leaves out. */
function scalarStart(event: { valueStart: number; style: number }, text: string): number {
  const before = text[event.valueStart - 1];
  return before === '"' || before === "'" ? event.valueStart - 1 : event.valueStart;
}

/** Why the document must not be built, or `undefined`: aliases of aliases grow exponentially, or never end. */
function aliasBomb(
  text: string,
  events: Event[],
  maxNodes: number,
): { message: string; offset: number } | undefined {
  const sizes = new Map<string, number>();
  const open: { size: number; anchor: string | undefined }[] = [];
  let total = 0;
  for (const event of events) {
    if (event.type === EVENT_ID.POP) {
      const closed = open.pop()!;
      if (closed.anchor !== undefined) sizes.set(closed.anchor, closed.size);
      const parent = open.at(-1);
      if (parent !== undefined) parent.size += closed.size;
      continue;
    }
    if (event.type === EVENT_ID.DOCUMENT) {
      open.push({ size: 0, anchor: undefined });
      continue;
    }
    const name = event.anchorStart >= 0 ? text.slice(event.anchorStart, event.anchorEnd) : undefined;
    let size = 1;
    if (event.type === EVENT_ID.ALIAS) {
      const offset = event.anchorStart - 1;
      if (open.some((frame) => frame.anchor === name)) {
        return { message: `the alias *${name} contains itself`, offset };
      }
      size = sizes.get(name!) ?? 1;
      total += size;
      if (total > maxNodes) {
        return { message: `aliases make this more than ${maxNodes} values; use fewer of them`, offset };
      }
    } else {
      total++;
    }
    if (event.type === EVENT_ID.MAPPING || event.type === EVENT_ID.SEQUENCE) {
      open.push({ size, anchor: name });
    } else {
      if (event.type === EVENT_ID.SCALAR && name !== undefined) sizes.set(name, size);
      open.at(-1)!.size += size;
    }
  }
  return undefined;
}

function lineStarts(text: string): number[] {
  const starts = [0];
  for (let i = text.indexOf('\n'); i >= 0; i = text.indexOf('\n', i + 1)) starts.push(i + 1);
  return starts;
}

function placeAt(starts: number[], offset: number): { line: number; col: number } {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle]! <= offset) low = middle;
    else high = middle - 1;
  }
  return { line: low + 1, col: offset - starts[low]! + 1 };
}
