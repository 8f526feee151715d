import { createHash, randomBytes } from 'node:crypto';
import type { Origin } from './origin.ts';
import { signatureOf, type TestKey } from './signing.ts';

export const hashOf = (algorithm: string, bytes: Buffer): string =>
  createHash(algorithm).update(bytes).digest('hex');

/** As Flatcar writes it. */
export function digestsOf(name: string, bytes: Buffer): Buffer {
  const sections = ['MD5', 'SHA1', 'SHA512'].map(
    (algorithm) => `# ${algorithm} HASH\n${hashOf(algorithm.toLowerCase(), bytes)}  ${name}\n`,
  );
  return Buffer.from(sections.join(''));
}

/** Puts a signed file on the origin. */
export async function publishSigned(
  origin: Origin,
  folder: string,
  name: string,
  bytes: Buffer,
  key: TestKey,
): Promise<void> {
  origin.files.set(`${folder}/${name}`, bytes);
  origin.files.set(`${folder}/${name}.sig`, await signatureOf(bytes, key));
  origin.files.set(`${folder}/${name}.DIGESTS`, digestsOf(name, bytes));
}

export interface Release {
  version: string;
  channel?: string;
  board?: string;
  /** Sizes of kernel, initrd and install image. */
  sizes?: [number, number, number];
}

/** A whole release of stand-ins, as the release servers have it. */
export async function publishRelease(origin: Origin, key: TestKey, release: Release): Promise<void> {
  const { version, channel = 'stable', board = 'amd64-usr', sizes = [70_000, 300_000, 400_000] } = release;
  const folder = `/${channel}/${board}/${version}`;
  const names = [
    'flatcar_production_pxe.vmlinuz',
    'flatcar_production_pxe_image.cpio.gz',
    'flatcar_production_image.bin.bz2',
  ];
  for (const [index, name] of names.entries())
    await publishSigned(origin, folder, name, randomBytes(sizes[index]!), key);
  await publishSigned(origin, folder, 'version.txt', versionText(version), key);
  const payload = randomBytes(50_000);
  origin.files.set(`/update/${board}/${version}/flatcar_production_update.gz`, payload);
  const sum = Buffer.from(`${hashOf('sha256', payload)}  flatcar_production_update.gz\n`);
  origin.files.set(`/update/${board}/${version}/flatcar_production_update.gz.sha256`, sum);
}

/** Says what `current` is. */
export function setCurrent(origin: Origin, version: string, channel = 'stable', board = 'amd64-usr'): void {
  origin.files.set(`/${channel}/${board}/current/version.txt`, versionText(version));
}

export function versionText(version: string): Buffer {
  return Buffer.from(`FLATCAR_BUILD=4593\nFLATCAR_VERSION=${version}\nFLATCAR_SDK_VERSION=4593.0.0\n`);
}

/** Sysext images with their list, as the bakery has them. */
export function publishSysexts(origin: Origin, name: string, files: Record<string, Buffer>): void {
  const folder = `/bakery/${name}`;
  for (const [file, bytes] of Object.entries(files)) origin.files.set(`${folder}/${file}`, bytes);
  const lines = Object.entries(files).map(([file, bytes]) => `${hashOf('sha256', bytes)}  ${file}\n`);
  origin.files.set(`${folder}/SHA256SUMS`, Buffer.from(lines.join('')));
}

/** The settings that send an appliance to this origin. */
export function mirrorsOn(origin: Pick<Origin, 'url'>) {
  return {
    flatcarMirror: `${origin.url}/{channel}/{board}/{version}`,
    updateMirror: `${origin.url}/update/{board}/{version}`,
    bakeryMirror: `${origin.url}/bakery/{name}`,
    flatcarKeyUrl: `${origin.url}/key.asc`,
  };
}
