/** A file of an archive. Folders are made by those who unpack it. */
export interface TarFile {
  path: string;
  content: string | Buffer;
  /** Default: only its owner may read it. */
  mode?: number;
}

const BLOCK = 512;
const MAX_PATH = 100;

/** An archive in the ustar format, which every tar reads. The same files give the same bytes. */
export function tarOf(files: readonly TarFile[]): Buffer {
  const blocks = files.flatMap(({ path, content, mode = 0o600 }) => {
    const bytes = Buffer.from(content);
    const padding = Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK);
    return [header(path, bytes.length, mode), bytes, padding];
  });
  return Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]);
}

function header(path: string, size: number, mode: number): Buffer {
  if (Buffer.byteLength(path) > MAX_PATH) throw new Error(`too long for an archive: ${path}`);
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number) => value.toString(8).padStart(digits, '0');
  block.write(path, 0);
  block.write(`${octal(mode, 7)}\0${octal(0, 7)}\0${octal(0, 7)}\0`, 100);
  block.write(`${octal(size, 11)}\0${octal(0, 11)}\0`, 124);
  // While the sum is worked out, its own field counts as spaces.
  block.fill(' ', 148, 156);
  block.write('0', 156);
  block.write('ustar\x0000', 257);
  block.write('root', 265);
  block.write('root', 297);
  block.write(`${octal(0, 7)}\0${octal(0, 7)}\0`, 329);
  const sum = block.reduce((total, byte) => total + byte, 0);
  block.write(`${octal(sum, 6)}\0 `, 148);
  return block;
}
