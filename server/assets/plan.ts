import { flatcarBoard, systemdArch } from '../inventory/arch.ts';
import { INITRD, KERNEL } from '../netboot/images.ts';
import type { NeededImage, NeededSysext, Needs } from './needs.ts';

export const INSTALL_IMAGE = 'flatcar_production_image.bin.bz2';
export const UPDATE_PAYLOAD = 'flatcar_production_update.gz';
export const VERSION_FILE = 'version.txt';

/** Where images come from; any mirror with the same files will do. */
export interface Mirrors {
  /** With {channel}, {board} and {version}. */
  flatcar: string;
  /** With {channel}, {board} and {version}. */
  update: string;
  /** With {name}. */
  bakery: string;
}

/** How a file is known to be right. */
export type Proof =
  /** `.sig` by the pinned key, `.DIGESTS` where there is one. */
  | { kind: 'signature' }
  /** The same, but it is good enough without: what it says is only where to look next. */
  | { kind: 'signature-if-there' }
  /** A list of SHA-256 sums, at this URL; `keptAs`: the list is served, too. */
  | { kind: 'sums'; url: string; keptAs?: string };

export interface PlannedFile {
  /** In the content store, and below `/assets/`. */
  name: string;
  url: string;
  proof: Proof;
}

/** Files that belong together: an image with all its files, or one sysext. */
export interface PlannedSet {
  /** For people. */
  title: string;
  files: PlannedFile[];
  /** Set for an image that is `current`: names below this folder lead to the same files. */
  alias?: string;
  image?: NeededImage;
}

/** Folder of an image in the content store, as `flatcar-install -b …/<board> -V <version>` wants it. */
export function imageFolder({ channel, arch }: NeededImage, version: string): string {
  return ['flatcar', channel, flatcarBoard(arch), version].join('/');
}

export function sysextFile({ name, version, arch }: NeededSysext): string {
  // The bakery's spelling: Kubernetes has a "v", containerd has none.
  return `${name}-${name === 'kubernetes' ? 'v' : ''}${version}-${systemdArch(arch)}.raw`;
}

/** Every file that is needed, with where it is from and what proves it. `versionOf`: what `current` stands for. */
export function plan(
  { images, sysexts }: Needs,
  mirrors: Mirrors,
  versionOf: (image: NeededImage) => string | undefined,
): PlannedSet[] {
  const sets = images.flatMap((image) => {
    const version = image.version === 'current' ? versionOf(image) : image.version;
    return version === undefined ? [] : [imageSet(image, version, mirrors)];
  });
  return [...sets, ...sysexts.map((sysext) => sysextSet(sysext, mirrors))];
}

function imageSet(image: NeededImage, version: string, mirrors: Mirrors): PlannedSet {
  const folder = imageFolder(image, version);
  const url = imageUrl(mirrors.flatcar, image, version);
  const signed = [KERNEL, INITRD, ...(image.onDisk ? [INSTALL_IMAGE] : [])];
  const files: PlannedFile[] = [
    {
      name: `${folder}/${VERSION_FILE}`,
      url: `${url}/${VERSION_FILE}`,
      proof: { kind: 'signature-if-there' },
    },
    ...signed.map((file): PlannedFile => {
      return { name: `${folder}/${file}`, url: `${url}/${file}`, proof: { kind: 'signature' } };
    }),
  ];
  if (image.onDisk) {
    const payload = `${imageUrl(mirrors.update, image, version)}/${UPDATE_PAYLOAD}`;
    const name = `${folder}/${UPDATE_PAYLOAD}`;
    const proof: Proof = { kind: 'sums', url: `${payload}.sha256`, keptAs: `${name}.sha256` };
    files.push({ name, url: payload, proof });
  }
  const title = `Flatcar ${image.channel} ${version} ${image.arch}`;
  return image.version === 'current'
    ? { title, files, image, alias: imageFolder(image, 'current') }
    : { title, files, image };
}

function sysextSet(sysext: NeededSysext, mirrors: Mirrors): PlannedSet {
  const file = sysextFile(sysext);
  const url = fill(mirrors.bakery, { name: sysext.name });
  const proof: Proof = { kind: 'sums', url: `${url}/SHA256SUMS` };
  const title = `${sysext.name} ${sysext.version} ${sysext.arch}`;
  return { title, files: [{ name: `sysext/${sysext.name}/${file}`, url: `${url}/${file}`, proof }] };
}

/** The folder of a version on a mirror. */
export function imageUrl(pattern: string, { channel, arch }: NeededImage, version: string): string {
  return fill(pattern, { channel, board: flatcarBoard(arch), version });
}

function fill(pattern: string, values: Record<string, string>): string {
  return pattern.replaceAll(/\{(\w+)\}/g, (whole, name: string) => values[name] ?? whole).replace(/\/+$/, '');
}
