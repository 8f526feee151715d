import { gunzipSync } from 'node:zlib';
import type { IgnitionConfig } from './spec/schema.ts';

/** What a file of a configuration would have in it; `undefined` if it has no such file, or takes it from elsewhere. */
export function fileIn(config: IgnitionConfig, path: string): Buffer | undefined {
  const file = config.storage?.files?.find((entry) => entry.path === path);
  const { source, compression } = file?.contents ?? {};
  if (source === undefined || source === null) return undefined;
  const [, kind = '', data = ''] = /^data:([^,]*),(.*)$/s.exec(source) ?? [];
  if (!source.startsWith('data:')) return Buffer.from(`${source}\n`);
  const content = kind.endsWith(';base64')
    ? Buffer.from(data, 'base64')
    : Buffer.from(decodeURIComponent(data));
  return compression === 'gzip' ? gunzipSync(content) : content;
}
