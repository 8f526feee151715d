/** The files that a document may take contents from (`local`, `trees` and so on). */
export interface FilesReader {
  /** The contents of a file, by its path relative to the folder of files. Throws `FileRefused`. */
  read(path: string): Uint8Array;
  /** What is in a folder, folders in it included, in the order of their names. Throws `FileRefused`. */
  walk(path: string): TreeEntry[];
}

export type TreeEntry =
  /** `path` is relative to the folder that was asked for. */
  | { kind: 'file'; path: string; isExecutable: boolean; read(): Uint8Array }
  | { kind: 'link'; path: string; target: string }
  | { kind: 'other'; path: string };

/** Why a file can't be had; the message is for people and names no path outside the folder. */
export class FileRefused extends Error {
  override readonly name = 'FileRefused';
}

/** For documents that may take nothing from files. */
export const NO_FILES: FilesReader = {
  read: () => {
    throw new FileRefused('no folder of files is configured, so nothing local can be read');
  },
  walk: () => {
    throw new FileRefused('no folder of files is configured, so nothing local can be read');
  },
};
