/** Longer ones are an accident or an attack; firmware has room for about 128 characters. */
const MAX_NAME = 255;

/**
 * Some PXE ROMs take a DHCP option for zero-ended, and send the byte after the file's name (255: the end of the
 * options) and what follows it along.
 */
const AFTER_END = /\xff.*$/s;

export type NameResult = { name: string } | { fault: string };

/**
 * The file that a request means, relative to the root, with single slashes: `pxelinux.cfg/default`.
 * Firmware writes names in many ways: with a leading slash, with doubled ones where it glued a folder and a file
 * together, with backslashes. What would leave the root is refused, not mended.
 */
export function normaliseName(sent: string): NameResult {
  const raw = sent.replace(AFTER_END, '');
  if (raw.length > MAX_NAME) return { fault: 'the name is too long' };
  // Names are for people to read in logs; nothing that we serve has such characters.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (/[\x00-\x1f\x7f]/.test(raw)) return { fault: 'the name has control characters' };
  const parts = raw
    .replaceAll('\\', '/')
    .split('/')
    .filter((part) => part !== '' && part !== '.');
  if (parts.includes('..')) return { fault: 'the name leads out of the root' };
  if (/^[a-z]:$/i.test(parts[0] ?? '')) return { fault: 'the name has a drive letter' };
  if (parts.length === 0) return { fault: 'the name is empty' };
  return { name: parts.join('/') };
}
