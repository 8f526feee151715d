import { gunzipSync } from 'node:zlib';
import { RailheadError } from '../errors.ts';
import type { IgnitionConfig } from './spec/schema.ts';

/** What a few bytes of gzip may become: anybody may ask for it. */
const MAX_BYTES = 64 * 1024 * 1024;

/** What a file of a configuration would have in it; where it comes from, if that is elsewhere. */
export function fileIn(config: IgnitionConfig, path: string): Buffer | undefined {
  const file = config.storage?.files?.find((entry) => entry.path === path);
  const { source, compression } = file?.contents ?? {};
  if (source === undefined || source === null) return undefined;
  if (!source.startsWith('data:')) return Buffer.from(`${source}\n`);
  const comma = source.indexOf(',');
  const data = source.slice(comma + 1);
  const content = source.slice(0, comma).endsWith(';base64')
    ? Buffer.from(data, 'base64')
    : percentDecoded(data);
  return compression === 'gzip' ? unpacked(content, path) : content;
}

/** Bytes, which need not be UTF-8. */
function percentDecoded(data: string): Buffer {
  const bytes = data.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, 'latin1');
}

function unpacked(content: Buffer, path: string): Buffer {
  try {
    return gunzipSync(content, { maxOutputLength: MAX_BYTES });
  } catch (error) {
    throw new RailheadError(
      'RH_CONFIG_UNAVAILABLE',
      `${path} says that it is gzip, but it can't be unpacked, or has more than 64 MiB.`,
      { cause: error },
    );
  }
}
