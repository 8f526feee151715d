import { RailheadError } from '../errors.ts';

/** systemd's `%a`. */
export const SYSEXT_ARCHS = ['x86-64', 'arm64'] as const;
export type SysextArch = (typeof SYSEXT_ARCHS)[number];

/** What the name of an image says: `kubernetes-v1.33.2-x86-64.raw`, as the sysext bakery names them. */
export interface ImageId {
  name: string;
  version: string;
  arch: SysextArch;
}

/** Where images are below the assets folder. */
export const SYSEXT_FOLDER = 'sysext';

/** Of an extension. `c` is where the views of clusters are. */
export const NAME_PATTERN = '^(?!c$)[a-z0-9][a-z0-9_-]{0,62}$';
/** What sysupdate's `@v` takes, and begins with a number. */
export const VERSION_PATTERN = '^v?[0-9][A-Za-z0-9.,_+-]{0,62}$';

const NAME = new RegExp(NAME_PATTERN);
const VERSION = new RegExp(VERSION_PATTERN);
const ENDING = /-(x86-64|arm64)\.raw$/;

export function fileOf({ name, version, arch }: ImageId): string {
  return `${name}-${version}-${arch}.raw`;
}

/** Its name in the content store. */
export function contentNameOf(id: ImageId): string {
  return `${SYSEXT_FOLDER}/${id.name}/${fileOf(id)}`;
}

/** What a file of `sysext/<name>/` is, if it is an image. */
export function parseFileOf(name: string, file: string): ImageId | undefined {
  const arch = ENDING.exec(file)?.[1] as SysextArch | undefined;
  const stem = file.replace(ENDING, '');
  if (arch === undefined || !NAME.test(name) || !stem.startsWith(`${name}-`)) return undefined;
  const version = stem.slice(name.length + 1);
  return VERSION.test(version) ? { name, version, arch } : undefined;
}

/** The same without knowing the extension: its version begins where the first number does. */
export function parseFile(file: string): ImageId | undefined {
  const name = /^(.+?)-v?\d/.exec(file)?.[1];
  return name === undefined ? undefined : parseFileOf(name, file);
}

/** Throws when it can't name an image. */
export function assertImageId({ name, version, arch }: Record<keyof ImageId, string>): ImageId {
  const refuse = (what: string, hint: string) => {
    throw new RailheadError('RH_REQUEST_INVALID', what, { hint });
  };
  if (!NAME.test(name)) {
    refuse(
      `${JSON.stringify(name)} can't be the name of an extension.`,
      'Use lower-case letters, digits, "-" and "_", such as kubernetes.',
    );
  }
  if (!VERSION.test(version)) {
    refuse(
      `${JSON.stringify(version)} can't be the version of an extension.`,
      'It begins with a number (or v and a number), such as v1.33.2; letters, digits and .,_+- may follow.',
    );
  }
  const known = SYSEXT_ARCHS.find((one) => one === arch);
  if (known === undefined)
    refuse(`${JSON.stringify(arch)} is no architecture.`, `Use ${SYSEXT_ARCHS.join(' or ')}.`);
  return { name, version, arch: known! };
}
