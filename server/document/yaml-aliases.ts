import { EVENT_ID, type Event } from 'js-yaml';
import { MAX_DEPTH } from './yaml-schema.ts';

/** Long text counts as more than one value. */
const CHARACTERS_A_NODE = 64;

/** Why the document must not be built, or `undefined`: aliases of aliases grow exponentially, or never end. */
export function aliasBomb(
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
