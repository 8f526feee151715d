/** The texts that go with images, as their makers write them. Pure. */

/** The SHA-512 of a file in its `.DIGESTS`: sections by algorithm, each with `hash  name`. */
export function sha512InDigests(text: string, file: string): string | undefined {
  let isSha512 = false;
  for (const line of text.split(/\r?\n/)) {
    if (line.startsWith('#')) isSha512 = /^#\s*SHA512 HASH\b/i.test(line);
    else if (isSha512) {
      const [, hash, name] = /^([0-9a-f]{128})\s+\*?(\S+)\s*$/i.exec(line) ?? [];
      if (hash !== undefined && name === file) return hash.toLowerCase();
    }
  }
  return undefined;
}

/** The SHA-256 of a file in a `SHA256SUMS`, or in a `.sha256` that may hold nothing but the hash. */
export function sha256InSums(text: string, file: string): string | undefined {
  for (const line of text.split(/\r?\n/)) {
    const [, hash, name] = /^([0-9a-f]{64})(?:[ \t]+\*?(\S+))?\s*$/i.exec(line) ?? [];
    if (hash !== undefined && (name === undefined || name.split('/').at(-1) === file))
      return hash.toLowerCase();
  }
  return undefined;
}

/** `FLATCAR_VERSION=4593.2.5` */
export function versionInText(text: string): string | undefined {
  return /^FLATCAR_VERSION="?(\d+\.\d+\.\d+)"?\s*$/m.exec(text)?.[1];
}
