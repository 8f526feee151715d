import { connect } from 'node:net';

/**
 * A process that downloads one file over and over, on many connections at once, and throws the bytes away. wrk would
 * not do: it reads 8 KiB at a time, and is slower than what it measures.
 */
export interface LoadOrder {
  port: number;
  path: string;
  /** Of the file. */
  size: number;
  connections: number;
  /** All together; a connection that is done with one begins the next. */
  downloads: number;
  /** It is over then, and what is not complete has not failed. */
  maxSeconds: number;
}

export interface LoadResult {
  complete: number;
  failed: number;
  bytes: number;
  seconds: number;
  cpuSeconds: number;
  /** From the first download that was complete to the end: how fair it was, when all began at once. */
  spreadSeconds: number;
  firstFault?: string;
}

const order = JSON.parse(process.argv[2]!) as LoadOrder;
/** All connections read into the same memory: nobody looks at it. */
const sink = Buffer.alloc(1024 * 1024);
const request = `GET ${order.path} HTTP/1.1\r\nHost: bench\r\n\r\n`;
const startedAt = performance.now();
const cpuBefore = process.cpuUsage();
let begun = 0;
let complete = 0;
let failed = 0;
let bytes = 0;
let isOver = false;
let firstEnd = Number.NaN;
let firstFault: string | undefined;

function download(): Promise<void> {
  return new Promise((resolve) => {
    let head = '';
    let left = -1;
    const next = (): void => {
      if (isOver || begun >= order.downloads) {
        socket.destroy();
        return resolve();
      }
      begun++;
      head = '';
      left = -1;
      socket.write(request);
    };
    const fail = (fault: string): void => {
      if (socket.destroyed) return;
      failed++;
      firstFault ??= fault;
      socket.destroy();
      resolve();
    };
    const take = (length: number): void => {
      let body = length;
      if (left < 0) {
        head += sink.toString('latin1', 0, length);
        const end = head.indexOf('\r\n\r\n');
        if (end < 0) return;
        const promised = Number(/content-length: (\d+)/i.exec(head)?.[1]);
        if (!/^HTTP\/1.1 200/.test(head) || promised !== order.size) return fail(head.slice(0, end));
        body = head.length - end - 4;
        left = promised;
      }
      left -= body;
      bytes += body;
      if (isOver) {
        socket.destroy();
        return resolve();
      }
      if (left > 0) return;
      if (left < 0) return fail('more bytes than were promised');
      complete++;
      if (Number.isNaN(firstEnd)) firstEnd = performance.now();
      next();
    };
    const onread = {
      buffer: sink,
      callback: (length: number) => {
        take(length);
        return true;
      },
    };
    const socket = connect({ host: '127.0.0.1', port: order.port, onread }, next);
    socket.on('error', (error) => fail(error.message));
    socket.on('close', () => fail(`closed ${left} bytes before the end`));
  });
}

setTimeout(() => {
  isOver = true;
}, order.maxSeconds * 1000).unref();
await Promise.all(Array.from({ length: order.connections }, download));
const now = performance.now();
const cpu = process.cpuUsage(cpuBefore);
const result: LoadResult = {
  complete,
  failed,
  bytes,
  seconds: (now - startedAt) / 1000,
  cpuSeconds: (cpu.user + cpu.system) / 1e6,
  spreadSeconds: (now - firstEnd) / 1000,
  ...(firstFault === undefined ? {} : { firstFault }),
};
console.log(JSON.stringify(result));
