import { OPCODE, parsePacket } from '../../server/tftp/codec.ts';
import { negotiate, type Terms } from '../../server/tftp/negotiate.ts';
import { type Ending, Transfer } from '../../server/tftp/transfer.ts';

export interface LinkOptions {
  content: Buffer;
  terms: Terms;
  /** Milliseconds from one end to the other. */
  delay?: number;
  /** Whether a packet is lost, delivered twice, or held back this many milliseconds more. */
  fate?: (direction: 'down' | 'up') => 'lose' | 'twice' | number;
  /** The client leaves without a word after this many blocks. */
  clientDiesAfter?: number;
  /** The client acknowledges again and again after this long without news. */
  clientTimeout?: number;
  /** How often the client tells where it is when blocks come that it has or can't use yet; EDK2 does so each time. */
  clientComplains?: 'once' | 'always';
}

export interface LinkResult {
  received: Buffer;
  ending: Ending;
  /** DATA packets that the server sent. */
  dataPackets: number;
  seconds: number;
  retransmits: number;
}

/** A transfer and an honest client of RFC 7440 on a link in virtual time: no sockets, no waiting, every run the same. */
export function runOnLink(options: LinkOptions): LinkResult {
  const { content, terms, delay = 0.5, clientTimeout = 1000 } = options;
  const fate = options.fate ?? (() => 0);
  let now = 0;
  const agenda: { at: number; order: number; run: () => void }[] = [];
  let order = 0;
  const at = (time: number, run: () => void): void => {
    agenda.push({ at: time, order: order++, run });
  };
  const deliver = (direction: 'down' | 'up', bytes: Buffer, to: (bytes: Buffer) => void): void => {
    const copy = Buffer.from(bytes);
    const what = fate(direction);
    if (what === 'lose') return;
    at(now + delay + (typeof what === 'number' ? what : 0), () => to(copy));
    if (what === 'twice') at(now + delay + 0.1, () => to(copy));
  };

  const chunks: Buffer[] = [];
  let ending: Ending | undefined;
  let dataPackets = 0;
  let expected = 1;
  let inWindow = 0;
  let complete = false;
  let dead = false;
  let gapAcked = -1;
  let heardAt = 0;

  const ack = (block: number): void => {
    inWindow = 0;
    deliver('up', Buffer.from([0, OPCODE.ack, (block >> 8) & 0xff, block & 0xff]), (bytes) => {
      const packet = parsePacket(bytes);
      if (packet?.type === 'ack') transfer.onAck(packet.block);
    });
  };
  const client = (bytes: Buffer): void => {
    if (dead) return;
    const packet = parsePacket(bytes)!;
    heardAt = now;
    if (packet.type === 'oack') return ack(0);
    if (packet.type !== 'data') return;
    if (packet.block !== (expected & 0xffff)) {
      // Out of order: acknowledge what is complete, once for each gap.
      if (gapAcked === expected && options.clientComplains !== 'always') return;
      gapAcked = expected;
      return ack(expected - 1);
    }
    chunks.push(packet.payload);
    expected++;
    inWindow++;
    if (options.clientDiesAfter !== undefined && expected > options.clientDiesAfter) {
      dead = true;
      return;
    }
    complete = packet.payload.length < terms.blockSize;
    if (complete || inWindow === terms.windowSize) ack(expected - 1);
  };

  const hasOptions = terms.windowSize > 1 || terms.blockSize !== 512;
  const { accepted } = negotiate(
    { blksize: String(terms.blockSize), windowsize: String(terms.windowSize) },
    content.length,
    { maxBlockSize: 65464, maxWindowSize: 65535 },
  );
  const transfer = new Transfer({
    content,
    terms,
    accepted: hasOptions ? accepted : undefined,
    now: () => now,
    wire: {
      send: (bytes) => deliver('down', bytes, client),
      sendBlocks: ({ content, blockSize }, first, end) => {
        for (let block = first; block < end; block++) {
          dataPackets++;
          const from = (block - 1) * blockSize;
          const head = Buffer.from([0, OPCODE.data, (block >> 8) & 0xff, block & 0xff]);
          deliver('down', Buffer.concat([head, content.subarray(from, from + blockSize)]), client);
        }
      },
    },
    onEnd: (how) => {
      ending = how;
    },
  });
  transfer.start();
  const tick = (): void => {
    if (ending !== undefined) return;
    transfer.onTick();
    if (!dead && now - heardAt > clientTimeout) {
      heardAt = now;
      if (expected > 1) ack(expected - 1);
    }
    at(now + 10, tick);
  };
  at(10, tick);
  while (ending === undefined) {
    if (agenda.length === 0 || now > 3_600_000) throw new Error('the transfer neither goes on nor ends');
    let first = 0;
    for (let i = 1; i < agenda.length; i++) {
      const a = agenda[i]!;
      const b = agenda[first]!;
      if (a.at < b.at || (a.at === b.at && a.order < b.order)) first = i;
    }
    const [next] = agenda.splice(first, 1);
    now = next!.at;
    next!.run();
  }
  return {
    received: Buffer.concat(chunks),
    ending,
    dataPackets,
    seconds: now / 1000,
    retransmits: transfer.retransmits,
  };
}
