import type { Path } from '../../document/yaml.ts';
import { validateIgnition } from '../validate.ts';
import type { DataUrl, DataUrls } from './data-url.ts';
import { makeDataUrl } from './data-url.ts';
import { FileRefused, type FilesReader } from './files.ts';
import type { JsonObject } from './json.ts';
import type { Report } from './report.ts';
import type { Translated } from './translate.ts';

/** Where contents come from. */
export interface Contents {
  /** The version of the config that is made. */
  spec: string;
  files: FilesReader;
  dataUrls: DataUrls;
  report: Report;
}

/** `inline` and `local` become a data URL. */
export function meltResource({ made, sugar, path }: Translated, contents: Contents): void {
  const { files, dataUrls, report } = contents;
  const given = ['local', 'inline', 'source'].filter(
    (key) => (key === 'source' ? made : sugar)[key] !== undefined,
  );
  if (given.length > 1) {
    report.error(
      [...path, given.at(-1)!],
      `only one of inline, local and source can be set, and this sets ${given.join(' and ')}`,
    );
    return;
  }
  const isCompressed = typeof made.compression === 'string' && made.compression !== '';
  if (typeof sugar.inline === 'string') {
    if (path[0] === 'ignition' && path[1] === 'config') checkInlineConfig(sugar.inline, path, contents);
    const { inline } = sugar;
    setContents(made, isCompressed ? makeDataUrl(Buffer.from(inline), true) : dataUrls.of(inline, path));
  }
  if (typeof sugar.local === 'string') {
    const local = sugar.local;
    const bytes = attempt(() => files.read(local), [...path, 'local'], report);
    if (bytes !== undefined) setContents(made, makeDataUrl(bytes, isCompressed));
  }
}

export function setContents(made: JsonObject, { source, compression }: DataUrl): void {
  made.source = source;
  if (compression !== undefined) made.compression = compression;
}

/** What a file says, or `undefined` after saying why it can't be had. */
export function attempt<T>(work: () => T, path: Path, report: Report): T | undefined {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof FileRefused)) throw error;
    report.error(path, error.message);
    return undefined;
  }
}

/** A config inside of a config must be a right one; one of another version is none of butane's business. */
function checkInlineConfig(text: string, path: Path, { report, spec }: Contents): void {
  const at = [...path, 'inline'];
  const version = versionOf(text);
  if (version !== undefined && version !== spec) {
    report.warning(at, `this config is of version ${version}, not ${spec}, so it is not checked`);
    return;
  }
  for (const { severity, path: where, message } of validateIgnition(text))
    report[severity](at, `${where}: ${message}`);
}

/** The version that a config says it has, if it can be read at all. */
function versionOf(text: string): string | undefined {
  try {
    const version: unknown = JSON.parse(text)?.ignition?.version;
    return typeof version === 'string' && /^\d+\.\d+\.\d+/.test(version) ? version : undefined;
  } catch {
    return undefined;
  }
}
