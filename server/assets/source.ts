import type { OnProgress } from './download.ts';
import type { PlannedFile } from './plan.ts';

/** A file that may become content when it has been checked. */
export interface Candidate {
  path: string;
  /** Some of its bytes are of an earlier time: if it is wrong, a fresh one may be right. */
  isPatched: boolean;
  /** It is ours to move aside; a file on somebody's USB stick is not. */
  isOurs: boolean;
  discard(): Promise<void>;
}

/** Where planned files come from: a mirror on the network, or a folder. */
export interface Source {
  /** For people. */
  originOf(file: PlannedFile): string;
  /** What lies beside a file, such as its `.sig`; `undefined` when there is none. */
  beside(file: PlannedFile, extension: string): Promise<Buffer | undefined>;
  /** The list with the file's SHA-256. */
  sumsOf(file: PlannedFile): Promise<Buffer | undefined>;
  get(file: PlannedFile, onProgress: OnProgress): Promise<Candidate>;
}
