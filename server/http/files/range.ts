/** What a Range header asks for, of a file that has `size` bytes. Both ends count. */
export type Wanted = { kind: 'whole' } | { kind: 'part'; start: number; end: number } | { kind: 'nothing' };

const WHOLE: Wanted = { kind: 'whole' };

/**
 * RFC 9110, 14. What is not understood is ignored, as the RFC wants it: another unit, a broken header. So are several
 * ranges at once: no boot loader asks for them, and the whole file is always a right answer.
 */
export function parseRange(header: string | undefined, size: number): Wanted {
  const list = /^bytes=(.*)$/i.exec(header ?? '')?.[1];
  if (list === undefined) return WHOLE;
  const specs = list.split(',').filter((spec) => spec.trim() !== '');
  const match = specs.length === 1 ? /^[ \t]*(\d*)-(\d*)[ \t]*$/.exec(specs[0]!) : null;
  if (match === null) return WHOLE;
  const [first, last] = [match[1]!, match[2]!];
  if (first !== '')
    return fromStart(Number(first), last === '' ? Number.POSITIVE_INFINITY : Number(last), size);
  return last === '' ? WHOLE : suffix(Number(last), size);
}

function fromStart(start: number, end: number, size: number): Wanted {
  if (end < start) return WHOLE;
  return start < size ? { kind: 'part', start, end: Math.min(end, size - 1) } : { kind: 'nothing' };
}

function suffix(length: number, size: number): Wanted {
  if (length === 0) return { kind: 'nothing' };
  // The last bytes of nothing are nothing, and there is no way to write that as a part.
  return size === 0 ? WHOLE : { kind: 'part', start: Math.max(0, size - length), end: size - 1 };
}
