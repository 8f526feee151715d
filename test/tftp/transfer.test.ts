import { randomBytes } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Ending, Transfer } from '../../server/tftp/transfer.ts';
import { runOnLink } from '../support/simulated-link.ts';

const lockstep = { blockSize: 512, windowSize: 1 };
const windowed = { blockSize: 1428, windowSize: 16 };

describe('a clean link', () => {
  it.each([0, 1, 511, 512, 513, 1024, 100_000])('%i bytes arrive as they are, each block once', (size) => {
    const content = randomBytes(size);
    for (const terms of [lockstep, windowed]) {
      const { received, ending, dataPackets, retransmits } = runOnLink({ content, terms });
      expect(received.equals(content)).toBe(true);
      expect(ending).toEqual({ result: 'done' });
      expect(dataPackets).toBe(Math.floor(size / terms.blockSize) + 1);
      expect(retransmits).toBe(0);
    }
  });

  it('block numbers start again at 0 after 65535, more than once', () => {
    const content = randomBytes(8 * 140_000 + 3);
    for (const windowSize of [1, 7, 64]) {
      const { received, ending } = runOnLink({ content, terms: { blockSize: 8, windowSize } });
      expect(ending.result).toBe('done');
      expect(received.equals(content)).toBe(true);
    }
  });
});

describe('a bad link', () => {
  it('whatever is lost, doubled or late: the bytes are right or the end has a reason', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 30_000 }),
        fc.constantFrom(8, 512, 1428),
        fc.constantFrom(1, 2, 4, 16, 64),
        fc.double({ min: 0, max: 0.3, noNaN: true }),
        fc.double({ min: 0, max: 0.1, noNaN: true }),
        fc.constantFrom(0.5, 10, 50),
        fc.infiniteStream(fc.double({ min: 0, max: 1, noNaN: true })),
        (size, blockSize, windowSize, loss, doubled, delay, dice) => {
          const content = randomBytes(blockSize === 8 ? Math.min(size, 3000) : size);
          const roll = (): number => dice.next().value as number;
          const result = runOnLink({
            content,
            terms: { blockSize, windowSize },
            delay,
            fate: () =>
              roll() < loss ? 'lose' : roll() < doubled ? 'twice' : roll() < 0.05 ? roll() * 30 : 0,
          });
          if (result.ending.result === 'done') {
            expect(result.received.equals(content)).toBe(true);
          } else {
            expect(result.ending.reason).toEqual(expect.any(String));
            expect(['timeout', 'unconfirmed']).toContain(result.ending.result);
          }
        },
      ),
      { numRuns: 300 },
    );
  });

  it('a doubled packet never doubles the rest (the sorcerer’s apprentice)', () => {
    const content = randomBytes(512 * 400);
    for (const windowSize of [1, 4, 16]) {
      let packet = 0;
      // Every packet from both sides arrives twice during the first fifth.
      const result = runOnLink({
        content,
        terms: { blockSize: 512, windowSize },
        delay: 5,
        fate: () => (packet++ < 80 ? 'twice' : 0),
      });
      expect(result.ending.result).toBe('done');
      expect(result.received.equals(content)).toBe(true);
      // Each doubled packet may cost one more window, and nothing after that.
      expect(result.dataPackets).toBeLessThan(401 + 120);
    }
  });

  it.each([
    ['lost', 'lose'],
    ['doubled', 'twice'],
  ] as const)(
    'one %s packet in a hundred never doubles the rest for clients that acknowledge early',
    (_, fate) => {
      const content = randomBytes(512 * 700);
      for (const clientComplains of ['once', 'always'] as const) {
        for (const windowSize of [4, 16]) {
          for (const delay of [0.5, 20]) {
            let packet = 40;
            const result = runOnLink({
              content,
              terms: { blockSize: 512, windowSize },
              delay,
              clientComplains,
              fate: () => (packet++ % 100 === 0 ? fate : 0),
            });
            expect(result.ending.result).toBe('done');
            expect(result.received.equals(content)).toBe(true);
            // Ten of them, and two windows for each at most.
            expect(result.dataPackets, `window ${windowSize}, delay ${delay}`).toBeLessThan(
              701 + 10 * 2 * windowSize,
            );
          }
        }
      }
    },
  );

  it('answers to every packet being late by more than the first time-out settle down', () => {
    const content = randomBytes(512 * 200);
    const result = runOnLink({ content, terms: lockstep, delay: 400 });
    expect(result.ending.result).toBe('done');
    expect(result.dataPackets).toBeLessThan(200 * 1.2);
  });

  it('one loss in a hundred costs little time: the timer follows the link', () => {
    const content = randomBytes(1_000_000);
    let n = 0;
    const result = runOnLink({
      content,
      terms: { blockSize: 1428, windowSize: 1 },
      fate: () => (++n % 100 === 0 ? 'lose' : 0),
    });
    expect(result.ending.result).toBe('done');
    // 14 losses: a server with a fixed timer of a second needs more than 14 seconds of virtual time.
    expect(result.seconds).toBeLessThan(3);
  });
});

describe('clients that stop', () => {
  it('one that dies in the middle ends the transfer with a reason, after few packets', () => {
    const { ending, dataPackets } = runOnLink({
      content: randomBytes(100_000),
      terms: windowed,
      clientDiesAfter: 20,
    });
    expect(ending).toEqual({ result: 'timeout', reason: expect.stringContaining('silent for') });
    expect(dataPackets).toBeLessThan(32 + 16 * 12);
  });

  it('one that leaves without its last acknowledgement has got everything', () => {
    const content = randomBytes(1000);
    const { ending, received } = runOnLink({ content, terms: lockstep, clientDiesAfter: 2 });
    expect(received.equals(content)).toBe(true);
    expect(ending.result).toBe('unconfirmed');
  });

  it('one that is never heard of is given up sooner', () => {
    const { ending, seconds } = runOnLink({ content: randomBytes(10), terms: windowed, fate: () => 'lose' });
    expect(ending).toEqual({ result: 'timeout', reason: expect.stringContaining('never answered') });
    expect(seconds).toBeLessThan(15);
  });
});

describe('what a client says', () => {
  function waiting(accepted?: Record<string, string>) {
    const endings: Ending[] = [];
    const sent: number[] = [];
    let now = 0;
    const transfer = new Transfer({
      content: randomBytes(5000),
      terms: { blockSize: 512, windowSize: 4 },
      accepted,
      wire: { send: () => sent.push(-1), sendBlocks: (_blocks, first, end) => sent.push(end - first) },
      now: () => now,
      onEnd: (ending) => endings.push(ending),
    });
    transfer.start();
    return {
      transfer,
      endings,
      sent,
      pass: (ms: number) => {
        now += ms;
      },
    };
  }

  it('EDK2 asks for the size, then refuses the options: a quiet end', () => {
    const { transfer, endings } = waiting({ tsize: '5000' });
    transfer.onError(8, 'User aborted the transfer');
    expect(endings).toEqual([{ result: 'size-only' }]);
  });

  it('a PXE ROM that asks for the size leaves with another error: as quietly', () => {
    const { transfer, endings } = waiting({ tsize: '5000' });
    transfer.onError(0, 'TFTP Aborted');
    expect(endings).toEqual([{ result: 'size-only' }]);
  });

  it('a client that refuses the options without having asked for the size has a reason', () => {
    const { transfer, endings } = waiting({ blksize: '1468' });
    transfer.onError(8, 'bad blksize');
    expect(endings).toEqual([{ result: 'client-error', reason: 'error 8: bad blksize' }]);
  });

  it('the same error in the middle of the file is an error', () => {
    const { transfer, endings } = waiting();
    transfer.onError(8, 'no');
    expect(endings).toEqual([{ result: 'client-error', reason: 'error 8: no' }]);
  });

  it('acknowledgements of blocks that were never sent mean nothing', () => {
    const { transfer, sent, endings } = waiting();
    for (const block of [5, 100, 40_000, 65_535]) transfer.onAck(block);
    expect(sent).toHaveLength(1);
    expect(endings).toEqual([]);
    transfer.onAck(4);
    expect(sent).toHaveLength(2);
  });

  it('a request that is repeated before anything was acknowledged is answered again, but not at once', () => {
    const { transfer, sent, pass } = waiting();
    transfer.onRepeatedRequest();
    expect(sent).toHaveLength(1);
    pass(200);
    transfer.onRepeatedRequest();
    expect(sent).toHaveLength(2);
    transfer.onAck(4);
    pass(200);
    transfer.onRepeatedRequest();
    expect(sent).toHaveLength(3);
  });

  it('after the end nothing is sent and nothing is said twice', () => {
    const { transfer, sent, endings, pass } = waiting();
    transfer.stop('stopped');
    pass(100_000);
    transfer.onTick();
    transfer.onAck(4);
    transfer.onError(0, 'x');
    expect(sent).toHaveLength(1);
    expect(endings).toEqual([{ result: 'stopped' }]);
  });
});

describe('a client that speaks but gets no further', () => {
  const start = (windowSize: number) => {
    let now = 0;
    const endings: Ending[] = [];
    const transfer = new Transfer({
      content: randomBytes(100_000),
      terms: { blockSize: 512, windowSize },
      accepted: undefined,
      wire: { send: () => {}, sendBlocks: () => {} },
      now: () => now,
      onEnd: (ending) => endings.push(ending),
    });
    transfer.start();
    transfer.onAck(1);
    return {
      endings,
      /** Says again what it has, every two seconds. */
      repeat: (seconds: number) => {
        for (const end = now + seconds * 1000; now < end && endings.length === 0; now += 10) {
          if (now % 2000 === 0) transfer.onAck(1);
          transfer.onTick();
        }
      },
    };
  };

  it.each([1, 16])('is waited for longer than a silent one, but not for ever (window %i)', (windowSize) => {
    const { endings, repeat } = start(windowSize);
    repeat(50);
    expect(endings).toEqual([]);
    repeat(30);
    expect(endings).toMatchObject([{ result: 'timeout' }]);
  });
});
