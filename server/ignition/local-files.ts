import { FileRefused, type FilesReader } from './butane/files.ts';
import { readerOfFolder } from './butane/files-folder.ts';

/** What templates may take contents from (`local`, `trees`): the last of the folders that has a file gives it. */
export function readerOfFolders(folders: readonly { dir: string }[]): FilesReader {
  const readers = folders.map(({ dir }) => readerOfFolder(dir)).reverse();
  const first = <T>(ask: (reader: FilesReader) => T): T => {
    let refused: unknown;
    for (const reader of readers) {
      try {
        return ask(reader);
      } catch (error) {
        if (!(error instanceof FileRefused)) throw error;
        refused ??= error;
      }
    }
    throw refused;
  };
  return {
    read: (path) => first((reader) => reader.read(path)),
    walk: (path) => first((reader) => reader.walk(path)),
  };
}
