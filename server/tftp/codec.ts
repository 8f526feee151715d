/**
 * TFTP on the wire: RFC 1350, 2347 (options). Pure: bytes to packets and back.
 */
export const OPCODE = { read: 1, write: 2, data: 3, ack: 4, error: 5, oack: 6 } as const;

export const ERROR_CODE = {
  undefined: 0,
  notFound: 1,
  accessViolation: 2,
  diskFull: 3,
  illegalOperation: 4,
  unknownTransfer: 5,
  fileExists: 6,
  noSuchUser: 7,
  optionsRefused: 8,
} as const;

export type Options = Readonly<Record<string, string>>;

export interface Request {
  type: 'read' | 'write';
  filename: string;
  /** In lower case: octet, netascii, mail. */
  mode: string;
  /** Names in lower case, in the order in which they were sent. */
  options: Options;
}

export type Packet =
  | Request
  | { type: 'data'; block: number; payload: Buffer }
  | { type: 'ack'; block: number }
  | { type: 'error'; code: number; message: string }
  | { type: 'oack'; options: Options };

/** Longer ones are nobody's: firmware has 128 bytes for a name. */
const MAX_STRING_BYTES = 512;
const MAX_OPTIONS = 32;

/** The packet, or `undefined` for bytes that are none. */
export function parsePacket(bytes: Buffer): Packet | undefined {
  if (bytes.length < 2) return undefined;
  const opcode = bytes.readUInt16BE(0);
  switch (opcode) {
    case OPCODE.read:
    case OPCODE.write:
      return parseRequest(opcode === OPCODE.read ? 'read' : 'write', bytes);
    case OPCODE.data:
      if (bytes.length < 4) return undefined;
      return { type: 'data', block: bytes.readUInt16BE(2), payload: bytes.subarray(4) };
    case OPCODE.ack:
      // Some firmware pads its ACKs: what follows the block number means nothing.
      return bytes.length < 4 ? undefined : { type: 'ack', block: bytes.readUInt16BE(2) };
    case OPCODE.error: {
      if (bytes.length < 4) return undefined;
      const end = bytes.indexOf(0, 4);
      // The closing zero is often forgotten, and nothing is lost without it.
      const message = bytes.toString('latin1', 4, end < 0 ? bytes.length : end);
      return { type: 'error', code: bytes.readUInt16BE(2), message };
    }
    case OPCODE.oack: {
      const options = parseOptions(strings(bytes, 2));
      return options === undefined ? undefined : { type: 'oack', options };
    }
    default:
      return undefined;
  }
}

function parseRequest(type: Request['type'], bytes: Buffer): Request | undefined {
  const [filename, mode, ...rest] = strings(bytes, 2) ?? [];
  if (filename === undefined || mode === undefined || filename === '') return undefined;
  const options = parseOptions(rest);
  return options === undefined ? undefined : { type, filename, mode: mode.toLowerCase(), options };
}

/** An option that is sent twice is not an option: which one was meant? A name without a value is dropped. */
function parseOptions(fields: string[] | undefined): Options | undefined {
  if (fields === undefined || fields.length > MAX_OPTIONS * 2) return undefined;
  const options: Record<string, string> = Object.create(null);
  for (let i = 0; i + 1 < fields.length; i += 2) {
    const name = fields[i]!.toLowerCase();
    if (name in options) return undefined;
    options[name] = fields[i + 1]!;
  }
  return options;
}

/** Zero-ended strings up to the end. Bytes after the last zero are padding. */
function strings(bytes: Buffer, start: number): string[] | undefined {
  const result: string[] = [];
  for (let from = start; from < bytes.length; ) {
    const end = bytes.indexOf(0, from);
    if (end < 0) break;
    if (end - from > MAX_STRING_BYTES) return undefined;
    result.push(bytes.toString('latin1', from, end));
    from = end + 1;
  }
  return result;
}

export function encodeRequest({ type, filename, mode, options }: Request): Buffer {
  return Buffer.concat([
    opcodeBytes(OPCODE[type]),
    zeroEnded(filename),
    zeroEnded(mode),
    encodeOptions(options),
  ]);
}

export function encodeOack(options: Options): Buffer {
  return Buffer.concat([opcodeBytes(OPCODE.oack), encodeOptions(options)]);
}

export function encodeError(code: number, message: string): Buffer {
  const head = Buffer.alloc(4);
  head.writeUInt16BE(OPCODE.error, 0);
  head.writeUInt16BE(code, 2);
  return Buffer.concat([head, zeroEnded(message)]);
}

export function encodeAck(block: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt16BE(OPCODE.ack, 0);
  bytes.writeUInt16BE(block & 0xffff, 2);
  return bytes;
}

export const DATA_HEADER_BYTES = 4;

/** Writes the header of a DATA packet; block numbers start again at 0 after 65535. */
export function writeDataHeader(target: Buffer, offset: number, block: number): void {
  target[offset] = 0;
  target[offset + 1] = OPCODE.data;
  target[offset + 2] = (block >> 8) & 0xff;
  target[offset + 3] = block & 0xff;
}

function encodeOptions(options: Options): Buffer {
  return Buffer.concat(
    Object.entries(options).flatMap(([name, value]) => [zeroEnded(name), zeroEnded(value)]),
  );
}

function opcodeBytes(opcode: number): Buffer {
  return Buffer.from([0, opcode]);
}

function zeroEnded(text: string): Buffer {
  return Buffer.from(`${text}\0`, 'latin1');
}
