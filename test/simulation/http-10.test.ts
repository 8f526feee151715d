import { describe, expect, it } from 'vitest';
import { Http10Answer } from '../../server/simulation/http-10.ts';

const answerTo = (...pieces: string[]) => {
  const answer = new Http10Answer({ keep: 5, onBytes: () => {} });
  const faults = pieces.map((piece) => answer.add(Buffer.from(piece))).filter((fault) => fault !== undefined);
  return { faults, end: answer.end() };
};

describe('an HTTP/1.0 answer', () => {
  it('may come in any pieces; its beginning is kept, all of it is counted', () => {
    const text = 'HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n0123456789';
    for (const pieces of [[text], [...text], [text.slice(0, 20), text.slice(20)]]) {
      expect(answerTo(...pieces)).toEqual({
        faults: [],
        end: { status: 200, bytes: 10, kept: Buffer.from('01234') },
      });
    }
  });

  it('without a length ends with the connection', () => {
    expect(answerTo('HTTP/1.0 404 Not Found\r\n\r\nno').end).toMatchObject({ status: 404, bytes: 2 });
  });

  it('that is cut short, or none, is a fault', () => {
    expect(answerTo('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n012').end).toEqual({
      fault: '3 of 10 bytes came',
    });
    expect(answerTo().end).toEqual({ fault: 'the connection was closed without an answer' });
    expect(answerTo('SSH-2.0\r\n\r\n').faults).toEqual(['the answer is not HTTP']);
    expect(answerTo('x'.repeat(20_000)).faults).toHaveLength(1);
  });
});
