import type { ImageId } from '../image-name.ts';

/** Where systemd looks for what an extension is for. Its name is the one that is merged, without a version. */
export const RELEASE_FOLDER = 'usr/lib/extension-release.d';

export function releasePath(name: string): string {
  return `${RELEASE_FOLDER}/extension-release.${name}`;
}

/** For any operating system of that architecture; units that it brings are seen by a running systemd. */
export function extensionRelease({ arch }: Pick<ImageId, 'arch'>): string {
  return `ID=_any\nARCHITECTURE=${arch}\nEXTENSION_RELOAD_MANAGER=1\n`;
}

/** Why systemd would not take an extension with this file on a host of that architecture, or `undefined`. */
export function releaseFault(text: string, { arch }: Pick<ImageId, 'arch'>): string | undefined {
  const fields = parse(text);
  const id = fields.get('ID');
  if (id === undefined) return 'it has no ID= (ID=_any fits every operating system)';
  const given = fields.get('ARCHITECTURE');
  if (given !== undefined && given !== arch && given !== '_any')
    return `it says ARCHITECTURE=${given}, and the image is for ${arch}`;
  const isTied = id === '_any' || fields.has('VERSION_ID') || fields.has('SYSEXT_LEVEL');
  if (!isTied) return `it says ID=${id} without VERSION_ID= or SYSEXT_LEVEL=`;
  return undefined;
}

function parse(text: string): Map<string, string> {
  const lines = text.split('\n').map((line) => /^([A-Z][A-Z0-9_]*)=(.*)$/.exec(line.trim()));
  return new Map(
    lines.filter((found) => found !== null).map(([, key = '', value = '']) => [key, unquote(value)]),
  );
}

function unquote(value: string): string {
  return value.replace(/^(["'])(.*)\1$/, '$2');
}
