import type { ConfigPath } from '../spec/place.ts';
import type { IgnitionConfig } from '../spec/schema.ts';
import { isAtLeast, type SpecVersion } from '../spec/version.ts';

/** What a check needs to know, and whom it tells. An error is what Ignition itself refuses; all else is a warning. */
export interface CheckContext {
  readonly version: SpecVersion;
  error(path: ConfigPath, message: string): void;
  warning(path: ConfigPath, message: string): void;
}

/** One that can't be made by looking at the structure alone. */
export type Check = (config: IgnitionConfig, context: CheckContext) => void;

export function has(context: CheckContext, since: SpecVersion): boolean {
  return isAtLeast(context.version, since);
}

/** The words of a table that a version of the spec knows. */
export function knownAt(version: SpecVersion, table: Readonly<Record<string, SpecVersion>>): string[] {
  return Object.keys(table).filter((word) => isAtLeast(version, table[word]!));
}

/** Ignition counts bytes where people count letters. */
export function byteLength(text: string): number {
  return Buffer.byteLength(text);
}
