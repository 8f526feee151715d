import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/** What must be known about an unfinished download to go on with it. */
export interface PartialNote {
  url: string;
  /** For `If-Range`: without it, nothing says that the rest belongs to the same file. */
  validator?: string;
  /** Bytes of the whole file. */
  total?: number;
}

/** An unfinished download, with its note beside it. */
export class Partial {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  get #notePath(): string {
    return `${this.path}.note`;
  }

  /** What there is of a file, if it can be gone on with; nothing otherwise. */
  async read(url: string): Promise<{ bytes: number; note: PartialNote }> {
    const nothing = { bytes: 0, note: { url } };
    const [found, text] = await Promise.all([
      stat(this.path).catch(() => undefined),
      readFile(this.#notePath, 'utf8').catch(() => undefined),
    ]);
    const note = text === undefined ? undefined : parseNote(text);
    if (found === undefined || found.size === 0 || note === undefined) return nothing;
    if (note.url !== url || (note.total ?? Number.POSITIVE_INFINITY) < found.size) return nothing;
    const isWhole = note.total === found.size;
    return isWhole || note.validator !== undefined ? { bytes: found.size, note } : nothing;
  }

  /** Begins anew. In this order, whenever it is interrupted: no note is ever beside bytes that it is not about. */
  async begin(note: PartialNote): Promise<void> {
    await mkdir(dirname(this.path), { recursive: true });
    await rm(this.#notePath, { force: true });
    await writeFile(this.path, '');
    await writeFile(this.#notePath, JSON.stringify(note));
  }

  async discard(): Promise<void> {
    await rm(this.#notePath, { force: true });
    await rm(this.path, { force: true });
  }
}

function parseNote(text: string): PartialNote | undefined {
  try {
    const note = JSON.parse(text) as PartialNote;
    return typeof note.url === 'string' ? note : undefined;
  } catch {
    return undefined;
  }
}
