import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  encodeAck,
  encodeError,
  encodeOack,
  encodeRequest,
  OPCODE,
  parsePacket,
  writeDataHeader,
} from '../../server/tftp/codec.ts';

/** Text as TFTP can carry it: bytes, but no zero. */
const text = (maxLength = 60) =>
  fc
    .array(fc.integer({ min: 1, max: 255 }), { maxLength })
    .map((bytes) => Buffer.from(bytes).toString('latin1'));
const word = fc.stringMatching(/^[a-z][a-z0-9.-]{0,15}$/);
const options = fc.dictionary(word, text(20), { maxKeys: 8, noNullPrototype: true });

describe('what is encoded is parsed back', () => {
  it('requests', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('read', 'write'),
        text().filter((name) => name !== ''),
        word,
        options,
        (type, filename, mode, asked) => {
          const parsed = parsePacket(encodeRequest({ type, filename, mode, options: asked }));
          expect(parsed).toMatchObject({ type, filename, mode });
          expect({ ...(parsed as { options: object }).options }).toEqual(asked);
        },
      ),
    );
  });

  it('acknowledgements, errors, option acknowledgements and data', () => {
    fc.assert(
      fc.property(
        fc.nat(0xffff),
        text(),
        options,
        fc.uint8Array({ maxLength: 600 }),
        (number, message, accepted, payload) => {
          expect(parsePacket(encodeAck(number))).toEqual({ type: 'ack', block: number });
          expect(parsePacket(encodeError(number, message))).toEqual({ type: 'error', code: number, message });
          const oack = parsePacket(encodeOack(accepted));
          expect({ ...(oack as { options: object }).options }).toEqual(accepted);
          const data = Buffer.concat([Buffer.alloc(4), payload]);
          writeDataHeader(data, 0, number);
          expect(parsePacket(data)).toEqual({ type: 'data', block: number, payload: Buffer.from(payload) });
        },
      ),
    );
  });
});

it('takes any bytes without throwing, and tells what is no packet', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 700 }), (bytes) => {
      const packet = parsePacket(Buffer.from(bytes));
      if (packet !== undefined) expect(Object.keys(OPCODE)).toContain(packet.type);
    }),
    { numRuns: 2000 },
  );
});

describe('what real clients send', () => {
  const parse = (latin1: string) => parsePacket(Buffer.from(latin1, 'latin1'));

  it('names of options in any case, mode in any case', () => {
    expect(parse('\0\x01a\0OCTET\0BLKSIZE\x001432\0TSize\x000\0')).toMatchObject({
      mode: 'octet',
      options: { blksize: '1432', tsize: '0' },
    });
  });

  it('an error without its closing zero, and padded acknowledgements', () => {
    expect(parse('\0\x05\0\x08User aborted')).toEqual({ type: 'error', code: 8, message: 'User aborted' });
    expect(parse('\0\x04\0\x07\0\0\0')).toEqual({ type: 'ack', block: 7 });
  });

  it.each([
    ['nothing', ''],
    ['an opcode alone', '\0\x01'],
    ['an empty name', '\0\x01\0octet\0'],
    ['no mode', '\0\x01file\0'],
    ['an option twice', '\0\x01a\0octet\0blksize\x008\0blksize\x009\0'],
    ['a name of 600 bytes', `\0\x01${'a'.repeat(600)}\0octet\0`],
    ['forty options', `\0\x01a\0octet\0${Array.from({ length: 40 }, (_, n) => `o${n}\x001\0`).join('')}`],
    ['an unknown opcode', '\0\x09x'],
    ['a short acknowledgement', '\0\x04\0'],
  ])('%s is no packet', (_what, bytes) => {
    expect(parse(bytes)).toBeUndefined();
  });

  it('an option named like a property of every object', () => {
    expect(parse('\0\x01a\0octet\0__proto__\x001\0constructor\x002\0')).toMatchObject({
      type: 'read',
      filename: 'a',
    });
  });
});
