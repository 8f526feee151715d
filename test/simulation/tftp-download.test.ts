import { describe, expect, it } from 'vitest';
import { seeded } from '../../server/simulation/random.ts';
import { type AskedTerms, Download, type DownloadEnding } from '../../server/simulation/tftp-download.ts';
import {
  encodeOack,
  type Packet,
  parsePacket,
  type Request,
  writeDataHeader,
} from '../../server/tftp/codec.ts';
import { DEFAULT_LIMITS, negotiate } from '../../server/tftp/negotiate.ts';
import { Transfer } from '../../server/tftp/transfer.ts';

/** A client with a clock that stands still unless it is told. */
function client(terms: AskedTerms = {}) {
  const state = {
    now: 0,
    sent: [] as Packet[],
    received: [] as Buffer[],
    ending: undefined as DownloadEnding | undefined,
  };
  const download = new Download({
    file: 'lpxelinux.0',
    terms,
    now: () => state.now,
    send: (bytes) => state.sent.push(parsePacket(bytes)!),
    onData: (payload) => state.received.push(Buffer.from(payload)),
    onEnd: (ending) => {
      state.ending = ending;
    },
  });
  const data = (block: number, payload: string): void =>
    download.onPacket({ type: 'data', block, payload: Buffer.from(payload) });
  /** Lets this much time pass, with a tick whenever one is due. */
  const wait = (milliseconds: number): void => {
    for (const end = state.now + milliseconds; state.now < end; ) {
      state.now += Math.min(download.due, end - state.now);
      download.onTick();
    }
  };
  download.start();
  return { download, data, wait, state };
}

const ack = (block: number): Packet => ({ type: 'ack', block });

describe('a TFTP download', () => {
  it('asks with its options, and takes what it is granted', () => {
    const { download, data, state } = client({ wantsSize: true, blockSize: 1456, windowSize: 2 });
    expect(state.sent).toEqual([
      {
        type: 'read',
        filename: 'lpxelinux.0',
        mode: 'octet',
        options: { tsize: '0', blksize: '1456', windowsize: '2' },
      },
    ]);
    download.onPacket({ type: 'oack', options: { tsize: '20', blksize: '8', windowsize: '2' } });
    data(1, '12345678');
    expect(state.sent.slice(1)).toEqual([ack(0)]);
    data(2, '12345678');
    data(3, '1234');
    expect(state.sent.slice(1)).toEqual([ack(0), ack(2), ack(3)]);
    expect(state.ending).toEqual({ result: 'done', bytes: 20 });
    expect(Buffer.concat(state.received).toString()).toBe('12345678123456781234');
    expect(download.retransmits).toBe(0);
  });

  it('goes on without options with a server that knows none', () => {
    const { data, state } = client({ blockSize: 1456, windowSize: 8 });
    data(1, 'x'.repeat(512));
    data(2, '');
    expect(state.sent.slice(1)).toEqual([ack(1), ack(2)]);
    expect(state.ending).toEqual({ result: 'done', bytes: 512 });
  });

  it('is told that there is no such file', () => {
    const { download, state } = client();
    download.onPacket({ type: 'error', code: 1, message: 'not found' });
    expect(state.ending).toEqual({ result: 'refused', code: 1, message: 'not found' });
  });

  it('refuses more than it asked for, and a file of another size than was said', () => {
    const greedy = client({ blockSize: 512 });
    greedy.download.onPacket({ type: 'oack', options: { blksize: '1468' } });
    expect(greedy.state.sent.at(-1)).toMatchObject({ type: 'error', code: 8 });
    expect(greedy.state.ending).toMatchObject({ result: 'failed' });
    const short = client({ wantsSize: true });
    short.download.onPacket({ type: 'oack', options: { tsize: '100' } });
    short.data(1, 'only this');
    expect(short.state.ending).toEqual({ result: 'failed', reason: '9 bytes came, the server had said 100' });
  });

  it('asks again after one second, then less and less often, and gives up', () => {
    const { download, wait, state } = client();
    wait(999);
    expect(state.sent).toHaveLength(1);
    wait(1);
    expect(state.sent).toHaveLength(2);
    wait(2000);
    expect(state.sent).toHaveLength(3);
    wait(60_000);
    expect(state.ending).toMatchObject({ result: 'failed', reason: expect.stringContaining('silent') });
    expect(download.retransmits).toBe(state.sent.length - 1);
    expect(state.sent.length).toBeLessThan(15);
  });

  it('says where it is when a block is missing or comes twice, once in a while', () => {
    const { data, state, wait, download } = client({ windowSize: 4 });
    download.onPacket({ type: 'oack', options: { windowsize: '4' } });
    data(1, 'x'.repeat(512));
    data(3, 'x'.repeat(512));
    data(4, 'x'.repeat(512));
    expect(state.sent.slice(1)).toEqual([ack(0), ack(1)]);
    wait(50);
    data(1, 'x'.repeat(512));
    expect(state.sent.slice(1)).toEqual([ack(0), ack(1), ack(1)]);
    expect(Buffer.concat(state.received)).toHaveLength(512);
  });

  it('counts on after 65535 blocks', () => {
    const { data, state } = client();
    for (let block = 1; block <= 65_540; block++) data(block & 0xffff, 'x'.repeat(512));
    data(65_541 & 0xffff, 'end');
    expect(state.ending).toEqual({ result: 'done', bytes: 65_540 * 512 + 3 });
  });
});

describe('with our own server on a bad link', () => {
  const cases = [0, 0.1, 0.3].flatMap((loss) => [1, 2, 3].map((seed) => ({ loss, seed })));
  it.each(cases)('gets the file whole: loss $loss, seed $seed', ({ loss, seed }) => {
    const content = Buffer.alloc(100_000, 'content');
    const { received, ending } = runPair(
      content,
      { wantsSize: true, blockSize: 1456, windowSize: 4 },
      loss,
      seed,
    );
    expect(ending).toEqual({ result: 'done', bytes: content.length });
    expect(received.equals(content)).toBe(true);
  });
});

/** Client and server in virtual time: no sockets, no waiting, every run the same. */
function runPair(content: Buffer, terms: AskedTerms, loss: number, seed: number) {
  const random = seeded(seed);
  let now = 0;
  const mail: { at: number; deliver: () => void }[] = [];
  const post = (deliver: () => void): void => {
    if (random() >= loss) mail.push({ at: now + 1, deliver });
  };
  let transfer: Transfer | undefined;
  const received: Buffer[] = [];
  let ending: DownloadEnding | undefined;
  const serve = ({ options }: Request): void => {
    if (transfer !== undefined) return transfer.onRepeatedRequest();
    const { terms, accepted } = negotiate(options, content.length, DEFAULT_LIMITS);
    const down = (bytes: Buffer): void => post(() => download.onPacket(parsePacket(bytes)));
    transfer = new Transfer({
      content,
      terms,
      accepted,
      now: () => now,
      onEnd: () => {},
      wire: {
        send: () => down(encodeOack(accepted!)),
        sendBlocks: ({ content, blockSize }, first, end) => {
          for (let block = first; block < end; block++) {
            const head = Buffer.alloc(4);
            writeDataHeader(head, 0, block);
            down(Buffer.concat([head, content.subarray((block - 1) * blockSize, block * blockSize)]));
          }
        },
      },
    });
    transfer.start();
  };
  const download = new Download({
    file: 'x',
    terms,
    now: () => now,
    send: (bytes) =>
      post(() => {
        const packet = parsePacket(bytes);
        if (packet?.type === 'read') serve(packet);
        else if (packet?.type === 'ack') transfer?.onAck(packet.block);
      }),
    onData: (payload) => received.push(Buffer.from(payload)),
    onEnd: (how) => {
      ending = how;
    },
  });
  download.start();
  for (; ending === undefined && now < 600_000; now++) {
    for (const { deliver } of mail.splice(0, mail.findLastIndex(({ at }) => at <= now) + 1)) deliver();
    transfer?.onTick();
    download.onTick();
  }
  return { received: Buffer.concat(received), ending };
}
