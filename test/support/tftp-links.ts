import { LossyRelay } from './lossy-relay.ts';
import { PATIENCE_MS } from './poll.ts';
import { compare, type Way } from './tftp-clients.ts';
import type { Address } from './tftp-server.ts';

export interface Link {
  loss: number;
  delayMs: number;
}

export interface LinkRun {
  /** `identical`, or what went wrong. */
  result: string;
  seconds: number;
  /** Packets with data that the server sent, and how many of these it had sent before. */
  packets: number;
  repeated: number;
  /** Why it had to be tried again. */
  retried?: string;
}

const TRIES = 4;

/** One download through a bad link, the same for the tests and for the whole matrix. */
export async function getThrough(
  server: Address,
  way: Way,
  file: { name: string; content: Buffer },
  link: Link,
  { seed = 1, deadlineMs = 2 * PATIENCE_MS } = {},
): Promise<LinkRun> {
  let retried: string | undefined;
  for (let attempt = 0; ; attempt++) {
    const relay = await LossyRelay.start(server, { ...link, seed: seed + attempt * 100 });
    try {
      const outcome = await way.client.get(relay, file.name, { ...way.options, deadlineMs });
      const fault = compare(outcome, file.content) === 'identical' ? undefined : faultOf(way, outcome.output);
      if (fault !== undefined && attempt < TRIES) {
        retried = fault;
        continue;
      }
      const { packets, repeated } = relay.toClient;
      return {
        result: compare(outcome, file.content),
        seconds: outcome.seconds,
        packets,
        repeated,
        ...(retried === undefined ? {} : { retried }),
      };
    } finally {
      relay.close();
    }
  }
}

/** Faults of clients that no server can do anything about. */
function faultOf({ client }: Way, output: string): string | undefined {
  // Its answer to the OACK was lost, so it is sent a second time, and gives up.
  if (client.name === 'atftp' && output.includes('unexpected OACK')) return 'atftp takes no OACK twice';
  return undefined;
}
