import { readFileSync } from 'node:fs';
import { encodeAck, encodeRequest, OPCODE } from '../../server/tftp/codec.ts';
import {
  closeSocket,
  connectSocket,
  openSocket,
  Poller,
  Receiver,
  receiveFrom,
  sendPacket,
  sendPacketTo,
  socketName,
} from './tftp-sockets.ts';

/** A process that downloads one file many times at once, over a link with delay and loss if that is wanted. */
export interface LoadOrder {
  address: string;
  port: number;
  /** What to ask for, and where the same bytes lie. */
  name: string;
  path: string;
  transfers: number;
  blockSize: number;
  windowSize: number;
  /** Round trip in milliseconds; half of it on the way down, half on the way up. */
  delay: number;
  /** Part of the packets that are lost, in each direction. */
  loss: number;
  seed: number;
  /** After this long it is over, whatever is left. */
  maxSeconds: number;
}

export interface LoadResult {
  complete: number;
  /** Wrong bytes, an ERROR, or not done in time. */
  failed: number;
  /** The server knew the window; without, everything went in lockstep. */
  windowGranted: boolean;
  bytes: number;
  /** From the first request to the last byte. */
  seconds: number;
  /** From the start of a transfer to its end, the mean of all. */
  meanSeconds: number;
  cpuSeconds: number;
  /** Blocks that came again or out of order. */
  stray: number;
  /** Times that the client itself had to ask again. */
  timeouts: number;
  firstFault?: string;
}

/** Requests that wait for their first answer: more would overflow the queue of the listening socket. */
const MAX_UNANSWERED = 64;
/** As the clients of tftp-hpa have it: long enough to leave the repair of losses to the server. */
const CLIENT_TIMEOUT_MS = 5000;
const REQUEST_TIMEOUT_MS = 1000;
const CHECK_MS = 100;

interface Download {
  fd: number;
  phase: 'request' | 'data' | 'done' | 'failed';
  /** It has got something; what the link lost does not count. */
  hasHeard: boolean;
  /** The next block, counted without end. */
  expected: number;
  inWindow: number;
  windowSize: number;
  blockSize: number;
  /** How far off the last block out of order was; undefined since the last good one. */
  strayDistance: number | undefined;
  startedAt: number;
  heardAt: number;
}

/** What is on its way, in the order of its arrival. */
interface Flight {
  at: number;
  tag: number;
  bytes: Buffer;
}

export function runLoad(order: LoadOrder): LoadResult {
  const content = readFileSync(order.path);
  const server = socketName(order.address, order.port);
  const request = encodeRequest({
    type: 'read',
    filename: order.name,
    mode: 'octet',
    options: {
      blksize: String(order.blockSize),
      ...(order.windowSize === 1 ? {} : { windowsize: String(order.windowSize) }),
    },
  });
  const random = randomBySeed(order.seed);
  const poller = new Poller();
  const receiver = new Receiver(order.blockSize + 64);
  const first = Buffer.alloc(order.blockSize + 64);
  const ackBytes = encodeAck(0);
  const isLink = order.delay > 0 || order.loss > 0;
  const down: Flight[] = [];
  const up: Flight[] = [];

  const downloads: Download[] = [];
  let unanswered = 0;
  let complete = 0;
  let failed = 0;
  let stray = 0;
  let timeouts = 0;
  let totalTime = 0;
  let windowGranted = false;
  let firstFault: string | undefined;
  let now = performance.now();
  const startedAt = now;
  const cpuBefore = process.cpuUsage();

  const toServer = (tag: number, bytes: Buffer): void => {
    const { fd } = downloads[tag]!;
    if (bytes[1] === OPCODE.read) sendPacketTo(fd, bytes, server);
    else sendPacket(fd, bytes);
  };
  const send = (tag: number, bytes: Buffer): void => {
    if (!isLink) return toServer(tag, bytes);
    if (random() < order.loss) return;
    up.push({ at: now + order.delay / 2, tag, bytes: Buffer.from(bytes) });
  };
  const ack = (tag: number, download: Download): void => {
    const block = download.expected - 1;
    ackBytes[2] = (block >> 8) & 0xff;
    ackBytes[3] = block & 0xff;
    download.inWindow = 0;
    send(tag, ackBytes);
  };
  const start = (): void => {
    const tag = downloads.length;
    const fd = openSocket();
    downloads.push({
      fd,
      phase: 'request',
      hasHeard: false,
      expected: 1,
      inWindow: 0,
      windowSize: 1,
      blockSize: 512,
      strayDistance: undefined,
      startedAt: now,
      heardAt: now,
    });
    poller.add(fd, tag);
    unanswered++;
    send(tag, request);
  };
  const end = (download: Download, fault?: string): void => {
    if (download.phase === 'request') unanswered--;
    download.phase = fault === undefined ? 'done' : 'failed';
    // Over a link the last word is still under way.
    if (!isLink) closeSocket(download.fd);
    if (fault === undefined) {
      complete++;
      totalTime += now - download.startedAt;
    } else {
      failed++;
      firstFault ??= fault;
    }
  };

  const onData = (tag: number, download: Download, bytes: Buffer, from: number, length: number): void => {
    const block = bytes.readUInt16BE(from + 2);
    const distance = ((block - download.expected) << 16) >> 16;
    if (distance !== 0) {
      stray++;
      // RFC 7440: say once what is complete, and again when the server begins anew.
      if (download.strayDistance === undefined || distance <= download.strayDistance) ack(tag, download);
      download.strayDistance = distance;
      return;
    }
    download.strayDistance = undefined;
    download.heardAt = now;
    const at = (download.expected - 1) * download.blockSize;
    const wanted = Math.min(download.blockSize, content.length - at);
    if (length - 4 !== wanted || content.compare(bytes, from + 4, from + length, at, at + wanted) !== 0) {
      return end(download, `block ${download.expected} has other bytes than the file`);
    }
    download.expected++;
    download.inWindow++;
    const isLast = wanted < download.blockSize;
    if (isLast || download.inWindow >= download.windowSize) ack(tag, download);
    if (isLast) end(download);
  };
  const onPacket = (tag: number, bytes: Buffer, from: number, length: number): void => {
    const download = downloads[tag]!;
    if (download.phase !== 'data') return;
    download.hasHeard = true;
    const opcode = bytes[from + 1];
    if (opcode === OPCODE.data) return onData(tag, download, bytes, from, length);
    if (opcode === OPCODE.error) {
      return end(download, `ERROR ${bytes.toString('latin1', from + 4, from + length - 1)}`);
    }
    if (opcode !== OPCODE.oack) return;
    const fields = bytes.toString('latin1', from + 2, from + length).split('\0');
    const option = (name: string, missing: number): number => {
      const index = fields.findIndex((field) => field.toLowerCase() === name);
      return index < 0 ? missing : Number(fields[index + 1]);
    };
    download.blockSize = option('blksize', 512);
    download.windowSize = option('windowsize', 1);
    download.heardAt = now;
    windowGranted ||= download.windowSize > 1;
    ack(tag, download);
  };
  const arrive = (tag: number, bytes: Buffer, from: number, length: number): void => {
    if (!isLink) return onPacket(tag, bytes, from, length);
    if (random() < order.loss) return;
    down.push({ at: now + order.delay / 2, tag, bytes: Buffer.from(bytes.subarray(from, from + length)) });
  };
  const onReady = (tag: number): void => {
    const download = downloads[tag]!;
    if (download.phase === 'request') {
      // The first answer comes from the port of the transfer; from then on it is the only one that counts.
      const answer = receiveFrom(download.fd, first);
      if (answer === undefined) return;
      connectSocket(download.fd, answer.name);
      download.phase = 'data';
      unanswered--;
      arrive(tag, first, 0, answer.length);
    } else {
      receiver.receive(download.fd, (bytes, from, length) => arrive(tag, bytes, from, length));
    }
  };
  const check = (): void => {
    for (const [tag, download] of downloads.entries()) {
      const silence = now - download.heardAt;
      if (download.phase !== 'request' && download.phase !== 'data') continue;
      if (silence < (download.hasHeard ? CLIENT_TIMEOUT_MS : REQUEST_TIMEOUT_MS)) continue;
      if (download.hasHeard) ack(tag, download);
      else send(tag, request);
      timeouts++;
      download.heardAt = now;
    }
  };

  let checkAt = now + CHECK_MS;
  while (complete + failed < order.transfers) {
    while (downloads.length < order.transfers && unanswered < MAX_UNANSWERED) start();
    const due = Math.min(down[0]?.at ?? checkAt, up[0]?.at ?? checkAt, checkAt);
    poller.wait(isLink ? due - now : CHECK_MS, onReady);
    now = performance.now();
    if (isLink) {
      flush(down, (tag, bytes) => onPacket(tag, bytes, 0, bytes.length), now);
      flush(up, toServer, now);
    }
    if (now < checkAt) continue;
    check();
    checkAt = now + CHECK_MS;
    if (now - startedAt < order.maxSeconds * 1000) continue;
    for (const download of downloads) {
      if (download.phase === 'request' || download.phase === 'data')
        end(download, `not done after ${order.maxSeconds} s`);
    }
    break;
  }
  const seconds = (now - startedAt) / 1000;
  const cpu = process.cpuUsage(cpuBefore);
  for (; up.length > 0; now = performance.now()) {
    poller.wait(up[0]!.at - now, () => {});
    flush(up, toServer, now);
  }
  return {
    complete,
    failed,
    windowGranted,
    bytes: complete * content.length,
    seconds,
    meanSeconds: totalTime / complete / 1000,
    cpuSeconds: (cpu.user + cpu.system) / 1e6,
    stray,
    timeouts,
    ...(firstFault === undefined ? {} : { firstFault }),
  };
}

function flush(flights: Flight[], deliver: (tag: number, bytes: Buffer) => void, until: number): void {
  while (flights.length > 0 && flights[0]!.at <= until) {
    const { tag, bytes } = flights.shift()!;
    deliver(tag, bytes);
  }
}

/** The same losses for every server (mulberry32). */
function randomBySeed(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

if (process.argv[2] !== undefined) console.log(JSON.stringify(runLoad(JSON.parse(process.argv[2]))));
