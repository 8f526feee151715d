import { connect } from 'node:net';
import { createInterface } from 'node:readline';
import { percentile } from './measure.ts';

/** A process that asks for configurations of one host after the other, on many connections at once. */
export interface AskOrder {
  port: number;
  /** `{}` stands for what differs between hosts. */
  path: string;
  /** In turn, and all of them over and over until the time is up; each only once if `seconds` is 0. */
  hosts: string[];
  seconds: number;
  connections: number;
}

export interface AskResult {
  answers: number;
  seconds: number;
  /** The time that the slowest one in a hundred took, in ms. */
  p99: number;
}

/** Bare sockets: Node's own client is slower than the servers, and so would be what is measured. */
async function ask({ port, path, hosts, seconds, connections }: AskOrder): Promise<AskResult> {
  const times: number[] = [];
  const startedAt = performance.now();
  let next = 0;
  const isOver = (): boolean =>
    seconds === 0 ? next >= hosts.length : performance.now() - startedAt >= seconds * 1000;
  const connection = (): Promise<void> =>
    new Promise((resolve, reject) => {
      let beganAt = 0;
      let received = '';
      const socket = connect({ host: '127.0.0.1', port });
      const begin = (): void => {
        if (isOver()) {
          socket.destroy();
          return resolve();
        }
        received = '';
        beganAt = performance.now();
        const of = path.replace('{}', hosts[next++ % hosts.length]!);
        socket.write(`GET ${of} HTTP/1.1\r\nHost: bench\r\n\r\n`);
      };
      socket.setEncoding('latin1').setNoDelay();
      socket.on('connect', begin).on('error', reject);
      socket.on('close', () => reject(new Error(`closed after ${received.slice(0, 300)}`)));
      socket.on('data', (data: string) => {
        received += data;
        const headEnd = received.indexOf('\r\n\r\n');
        if (headEnd < 0) return;
        const length = lengthOf(received.slice(0, headEnd), received.slice(headEnd + 4));
        if (length === undefined) return reject(new Error(received.slice(0, 300)));
        if (received.length < headEnd + 4 + length) return;
        times.push(performance.now() - beganAt);
        begin();
      });
    });
  await Promise.all(Array.from({ length: connections }, connection));
  return {
    answers: times.length,
    seconds: (performance.now() - startedAt) / 1000,
    p99: percentile(times, 99),
  };
}

/** Of the body; Go sends larger ones in chunks. `undefined` for what is no good answer. */
function lengthOf(head: string, body: string): number | undefined {
  if (!head.startsWith('HTTP/1.1 200')) return undefined;
  if (!/transfer-encoding: chunked/i.test(head)) return Number(/content-length: (\d+)/i.exec(head)?.[1]);
  return body.endsWith('0\r\n\r\n') ? body.length : Number.POSITIVE_INFINITY;
}

// One process for all orders, each a line: a new one would be slow each time, until it is warm.
for await (const line of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await ask(JSON.parse(line))));
}
