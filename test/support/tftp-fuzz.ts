import { seeded } from '../../server/simulation/random.ts';
import { encodeAck, encodeError, encodeOack, encodeRequest, type Options } from '../../server/tftp/codec.ts';

const NAMES = [
  ...['small', 'large', 'missing', '/small', '\\large', 'folder', '', '.', '..', '../../etc/passwd'],
  ...[
    'pxelinux.cfg/default',
    'pxelinux.cfg/01-52-54-00-12-34-01',
    'small\xff',
    'x'.repeat(300),
    '%s%n',
    '\x9b2J',
  ],
];
const MODES = ['octet', 'octet', 'octet', 'OCTET', 'netascii', 'mail', '', 'octet ', 'x'.repeat(100)];
const OPTIONS = [
  'blksize',
  'windowsize',
  'tsize',
  'timeout',
  'BLKSIZE',
  'multicast',
  '',
  '__proto__',
  'x'.repeat(90),
];
const VALUES = [
  ...['0', '1', '4', '7', '8', '16', '64', '255', '256', '512', '1432', '1468', '65464', '65535', '65536'],
  ...['-1', '', ' ', '1e3', '0x10', 'NaN', '999999999', '9'.repeat(50), 'text'],
];

/** Datagrams as broken or malicious clients might send them; the same ones for the same seed. */
export class TftpFuzzer {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seeded(seed);
  }

  /** A whole number from 0 up to `limit` - 1. */
  below(limit: number): number {
    return Math.floor(this.#random() * limit);
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!;
  }

  next(): Buffer {
    const kind = this.below(100);
    if (kind < 15) return this.#noise(this.below(40) === 0 ? 9000 : 600);
    if (kind < 30) return Buffer.concat([Buffer.from([0, this.below(8)]), this.#noise(200)]);
    if (kind < 45) return this.#valid();
    if (kind < 80) return this.#mutated(this.#valid());
    return this.#acknowledgement();
  }

  #valid(): Buffer {
    switch (this.below(10)) {
      case 0:
        return encodeError(this.below(10), this.pick(NAMES));
      case 1:
        return encodeOack(this.#options());
      case 2:
        return Buffer.concat([Buffer.from([0, 3]), this.#noise(520)]);
      case 3:
        return this.#acknowledgement();
      default:
        return encodeRequest({
          type: this.below(8) === 0 ? 'write' : 'read',
          filename: this.pick(NAMES),
          mode: this.pick(MODES),
          options: this.#options(),
        });
    }
  }

  /** Mostly of blocks that a transfer may be at. */
  #acknowledgement(): Buffer {
    return encodeAck(this.below(this.pick([1, 2, 20, 200, 65_536])));
  }

  #options(): Options {
    const options: Record<string, string> = {};
    for (let n = this.below(5); n > 0; n--) options[this.pick(OPTIONS)] = this.pick(VALUES);
    return options;
  }

  #mutated(original: Buffer): Buffer {
    let bytes = Buffer.from(original);
    for (let n = 1 + this.below(4); n > 0; n--) {
      const at = this.below(bytes.length + 1);
      switch (this.below(6)) {
        case 0:
          if (at < bytes.length) bytes[at] = this.below(256);
          break;
        case 1:
          if (at < bytes.length) bytes[at] = bytes[at]! ^ (1 << this.below(8));
          break;
        case 2:
          bytes = bytes.subarray(0, at);
          break;
        case 3:
          bytes = Buffer.concat([bytes.subarray(0, at), this.#noise(30), bytes.subarray(at)]);
          break;
        case 4:
          bytes = Buffer.concat([bytes.subarray(0, at), Buffer.from([0]), bytes.subarray(at)]);
          break;
        case 5:
          bytes = Buffer.concat([bytes, bytes.subarray(at)]).subarray(0, 1500);
          break;
      }
    }
    return bytes;
  }

  #noise(most: number): Buffer {
    const bytes = Buffer.alloc(this.below(most + 1));
    for (let i = 0; i < bytes.length; i++) bytes[i] = this.below(256);
    return bytes;
  }
}
