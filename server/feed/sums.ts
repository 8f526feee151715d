import { createHash } from 'node:crypto';

export interface SummedFile {
  file: string;
  /** In hex. */
  sha256: string;
}

/** sysupdate takes no empty file: with a line that fits no definition it finds that there is nothing to do. */
const NOTHING: SummedFile = { file: 'nothing-for-you', sha256: createHash('sha256').digest('hex') };

/**
 * SHA256SUMS as sysupdate takes it: a hash, a space, a `*` for "binary", a plain name, a line feed, and nothing else.
 * One line that it can't read, a blank one or a missing last line feed and it refuses all of them. Always in the same
 * order, so that the same images give the same bytes.
 */
export function formatSums(files: readonly SummedFile[]): string {
  const lines = files.length === 0 ? [NOTHING] : files;
  return lines
    .toSorted((a, b) => (a.file < b.file ? -1 : a.file > b.file ? 1 : 0))
    .map(({ sha256, file }) => {
      if (!/^[0-9a-f]{64}$/.test(sha256)) throw new TypeError(`${sha256} is no SHA-256`);
      if (!/^[\w+~,-][\w.+~,-]*$/.test(file)) throw new TypeError(`${JSON.stringify(file)} is no plain name`);
      return `${sha256} *${file}\n`;
    })
    .join('');
}
