import { createHash } from 'node:crypto';

/** The real configuration that a pointer config names. */
export interface ConfigReference {
  url: string;
  headers: Record<string, string>;
  /** Such as `sha512-…`. */
  hash?: string;
  /** Certificates of those to trust, as PEM. */
  authorities: string[];
}

export class PointerFault extends Error {}

interface Resource {
  source?: string | null;
  httpHeaders?: { name: string; value?: string | null }[];
  verification?: { hash?: string | null };
}

interface Pointer {
  ignition?: {
    version?: string;
    config?: { replace?: Resource };
    security?: { tls?: { certificateAuthorities?: Resource[] } };
  };
}

/** Where an Ignition config sends its reader on to; `undefined` when it is all there is. */
export function readPointer(text: string): ConfigReference | undefined {
  let pointer: Pointer;
  try {
    pointer = JSON.parse(text) as Pointer;
  } catch {
    throw new PointerFault('the Ignition config is not JSON');
  }
  if (!/^3\.\d+\.\d+/.test(pointer?.ignition?.version ?? '')) {
    throw new PointerFault('the Ignition config has no version of the 3.x spec');
  }
  const { config, security } = pointer.ignition!;
  const url = config?.replace?.source;
  if (url === undefined || url === null) return undefined;
  const hash = config?.replace?.verification?.hash;
  return {
    url,
    headers: Object.fromEntries(
      (config?.replace?.httpHeaders ?? []).map(({ name, value }) => [name, value ?? '']),
    ),
    ...(hash ? { hash } : {}),
    authorities: (security?.tls?.certificateAuthorities ?? []).map(({ source }) => fromDataUrl(source ?? '')),
  };
}

/** Whether this is what the pointer's hash is of. */
export function matchesHash(content: Buffer, hash: string): boolean {
  const [, kind, digest] = /^(sha256|sha512)-([0-9a-f]+)$/i.exec(hash) ?? [];
  return (
    kind !== undefined &&
    createHash(kind.toLowerCase()).update(content).digest('hex') === digest!.toLowerCase()
  );
}

/** RFC 2397: `data:,text%0A` or `data:;base64,…`. */
function fromDataUrl(url: string): string {
  const [, base64, data] = /^data:[^,]*?(;base64)?,(.*)$/s.exec(url) ?? [];
  if (data === undefined)
    throw new PointerFault('a CA certificate of the Ignition config is not a data: URL');
  return base64 === undefined ? decodeURIComponent(data) : Buffer.from(data, 'base64').toString('utf8');
}
