import { EVENT_ID, type Event, getScalarValue, SCALAR_STYLE } from 'js-yaml';
import { YAML_SCHEMA } from './yaml-schema.ts';

/** Where a value stands, and where those in it do. */
export interface PlacedNode {
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
export function placeNodes(text: string, events: Event[]): PlacedNode {
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
  return style === SCALAR_STYLE.PLAIN ? String(YAML_SCHEMA.resolveImplicitScalarTag(text).value) : text;
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

/** Where what an event tells of ends. */
export function endOf(event: Event): number {
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

/** Line breaks are what they are to YAML: LF, CRLF and a lone CR. */
export function lineStarts(text: string): number[] {
  const starts = [0];
  for (const { index, 0: lineBreak } of text.matchAll(/\r\n?|\n/g)) starts.push(index + lineBreak.length);
  return starts;
}

export function placeAt(starts: number[], offset: number): { line: number; col: number } {
  let low = 0;
  let high = starts.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (starts[middle]! <= offset) low = middle;
    else high = middle - 1;
  }
  return { line: low + 1, col: offset - starts[low]! + 1 };
}
