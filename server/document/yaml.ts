import {
  CORE_SCHEMA,
  constructFromEvents,
  EVENT_ID,
  type Event,
  getScalarValue,
  mergeTag,
  parseEvents,
  SCALAR_STYLE,
  YAMLException,
} from 'js-yaml';
import type { Place, Problem } from './problem.ts';
import { COLLECTION_AS_KEY, explainYamlFault } from './yaml-fault.ts';

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
const CHARACTERS_A_NODE = 64;
const MAX_DEPTH = 100;

const SCHEMA = CORE_SCHEMA.withTags(mergeTag);

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
      schema: SCHEMA,
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

interface PlacedNode {
  start: number;
  keyStart: number;
  text?: string;
  children?: Map<string | number, PlacedNode>;
}

interface Frame {
  node: PlacedNode;
  mapping: boolean;
  index: number;
  key: { name: string; start: number; isMerge: boolean } | null;
  /** Set for a mapping, or a list of them, after `<<`: where its entries go as well. */
  mergeInto: PlacedNode | null;
}

/**
 * Builds the tree of places. An alias takes the place where it is used and the children of its anchor; what is merged
 * by `<<` keeps the place where it was written, which is where it has to be mended.
 */
function placeNodes(text: string, events: Event[]): PlacedNode {
  const root: PlacedNode = { start: 0, keyStart: -1 };
  const anchors = new Map<string, PlacedNode>();
  const stack: Frame[] = [];
  let end = 0; // of what was read so far

  /** Returns the mapping that `node` is to be merged into, if it is the value of a `<<`. */
  const attach = (node: PlacedNode, style?: number): PlacedNode | null => {
    const frame = stack.at(-1);
    if (frame === undefined) {
      Object.assign(root, node);
    } else if (!frame.mapping) {
      frame.node.children!.set(frame.index++, node);
    } else if (frame.key === null) {
      const isMerge = node.text === '<<' && style === SCALAR_STYLE.PLAIN;
      frame.key = { name: keyName(node.text ?? '', style), start: node.start, isMerge };
    } else {
      const { name, start, isMerge } = frame.key;
      frame.key = null;
      if (isMerge) return frame.node;
      node.keyStart = start;
      frame.node.children!.set(name, node);
    }
    return null;
  };
  const remember = (event: { anchorStart: number; anchorEnd: number }, node: PlacedNode): void => {
    if (event.anchorStart >= 0) anchors.set(text.slice(event.anchorStart, event.anchorEnd), node);
  };

  for (const event of events) {
    switch (event.type) {
      case EVENT_ID.SCALAR: {
        const start = scalarStart(event, text, end, stack.at(-1));
        const node: PlacedNode = { start, keyStart: -1, text: getScalarValue(text, event) };
        remember(event, node);
        attach(node, event.style);
        break;
      }
      case EVENT_ID.MAPPING:
      case EVENT_ID.SEQUENCE: {
        const node: PlacedNode = { start: event.start, keyStart: -1, children: new Map() };
        remember(event, node);
        const mergeInto = attach(node);
        stack.push({ node, mapping: event.type === EVENT_ID.MAPPING, index: 0, key: null, mergeInto });
        break;
      }
      case EVENT_ID.ALIAS: {
        const target = anchors.get(text.slice(event.anchorStart, event.anchorEnd));
        // The event's range leaves out the asterisk.
        const mergeInto = attach({ ...target, start: event.anchorStart - 1, keyStart: -1 });
        if (mergeInto !== null && target !== undefined) merge(mergeInto, target);
        break;
      }
      case EVENT_ID.POP: {
        const closed = stack.pop();
        if (closed?.mergeInto) merge(closed.mergeInto, closed.node);
        break;
      }
    }
    end = Math.max(end, endOf(event));
  }
  return root;
}

/** As js-yaml does: what is there already stays, and of several sources the first one wins. */
function merge(into: PlacedNode, source: PlacedNode): void {
  const isList = source.children?.has(0) ?? false;
  const mappings = isList ? [...source.children!.values()] : [source];
  for (const { children } of mappings) {
    for (const [key, node] of children ?? []) if (!into.children!.has(key)) into.children!.set(key, node);
  }
}

/** A key's name in the value: `0x10` and `~` don't stay as they are written. */
function keyName(text: string, style: number | undefined): string {
  return style === SCALAR_STYLE.PLAIN ? String(SCHEMA.resolveImplicitScalarTag(text).value) : text;
}

type ScalarEvent = Extract<Event, { type: typeof EVENT_ID.SCALAR }>;

/** Where a person sees a scalar start; the event's range leaves out quotes and the `|` of a block. */
function scalarStart(event: ScalarEvent, text: string, before: number, frame: Frame | undefined): number {
  switch (event.style) {
    case SCALAR_STYLE.SINGLE_QUOTED:
    case SCALAR_STYLE.DOUBLE_QUOTED:
      return event.valueStart - 1;
    case SCALAR_STYLE.LITERAL_BLOCK:
    case SCALAR_STYLE.FOLDED_BLOCK: {
      const header = /[|>][-+1-9]*[ \t]*(?:[ \t]#[^\r\n]*)?(?:\r\n?|\n)?$/.exec(
        text.slice(before, event.valueStart),
      );
      return header === null ? event.valueStart : before + header.index;
    }
  }
  if (event.valueStart >= 0) return event.valueStart;
  // Nothing was written: point at the key, at the anchor or tag, or at the dash.
  if (frame?.key) return frame.key.start;
  if (event.anchorStart >= 0) return event.anchorStart - 1;
  if (event.tagStart >= 0) return event.tagStart;
  const skipped = /(?:[\s\]},"']|#[^\r\n]*)*/y;
  skipped.lastIndex = before;
  skipped.exec(text);
  return Math.min(skipped.lastIndex, Math.max(0, text.length - 1));
}

function endOf(event: Event): number {
  switch (event.type) {
    case EVENT_ID.SCALAR:
      return Math.max(event.valueEnd, event.anchorEnd, event.tagEnd);
    case EVENT_ID.ALIAS:
      return event.anchorEnd;
    case EVENT_ID.MAPPING:
    case EVENT_ID.SEQUENCE:
      return Math.max(event.start, event.anchorEnd, event.tagEnd);
    default:
      return 0;
  }
}

/** Why the document must not be built, or `undefined`: aliases of aliases grow exponentially, or never end. */
function aliasBomb(
  text: string,
  events: Event[],
  maxNodes: number,
): { message: string; offset: number } | undefined {
  interface Part {
    size: number;
    /** How many levels of lists and mappings it has. */
    height: number;
    isOpen: boolean;
  }
  const anchors = new Map<string, Part>();
  const open: Part[] = [];
  let total = 0;
  for (const event of events) {
    if (event.type === EVENT_ID.POP) {
      const closed = open.pop()!;
      closed.isOpen = false;
      const parent = open.at(-1);
      if (parent !== undefined) {
        parent.size += closed.size;
        parent.height = Math.max(parent.height, closed.height + 1);
      }
      continue;
    }
    if (event.type === EVENT_ID.DOCUMENT) {
      open.push({ size: 0, height: 0, isOpen: true });
      continue;
    }
    const name = event.anchorStart >= 0 ? text.slice(event.anchorStart, event.anchorEnd) : undefined;
    if (event.type === EVENT_ID.ALIAS) {
      const offset = event.anchorStart - 1;
      const target = anchors.get(name!);
      if (target?.isOpen) return { message: `the alias *${name} contains itself`, offset };
      const size = target?.size ?? 1;
      total += size;
      if (total > maxNodes) {
        return { message: `aliases make this more than ${maxNodes} values; use fewer of them`, offset };
      }
      const parent = open.at(-1)!;
      parent.size += size;
      parent.height = Math.max(parent.height, (target?.height ?? 0) + 1);
      // js-yaml bounds what is written as nested, but not what becomes so by aliases.
      if (open.length + (target?.height ?? 0) > MAX_DEPTH) {
        return { message: `aliases make this nested too deeply: more than ${MAX_DEPTH} levels`, offset };
      }
      continue;
    }
    const isScalar = event.type === EVENT_ID.SCALAR;
    const size = isScalar ? 1 + Math.floor((event.valueEnd - event.valueStart) / CHARACTERS_A_NODE) : 1;
    const part = { size, height: 0, isOpen: !isScalar };
    total += size;
    if (name !== undefined) anchors.set(name, part);
    if (isScalar) open.at(-1)!.size += size;
    else open.push(part);
  }
  return undefined;
}

/** Line breaks are what they are to YAML: LF, CRLF and a lone CR. */
function lineStarts(text: string): number[] {
  const starts = [0];
  for (const { index, 0: lineBreak } of text.matchAll(/\r\n?|\n/g)) starts.push(index + lineBreak.length);
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
