import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LossyRelay } from '../../support/lossy-relay.ts';
import { tftpClients, waysOf } from '../../support/tftp-clients.ts';
import { getThrough } from '../../support/tftp-links.ts';
import { download } from '../../support/tftp-scripted.ts';
import { TftpServerProcess } from '../../support/tftp-server.ts';

const LINKS = [
  { loss: 0.01, delayMs: 10 },
  { loss: 0.01, delayMs: 50 },
  { loss: 0.1, delayMs: 10 },
  { loss: 0.1, delayMs: 50 },
];
const clients = await tftpClients();
const files = new Map<number, { name: string; content: Buffer }>();
let server: TftpServerProcess;

beforeAll(async () => {
  server = await TftpServerProcess.start();
  for (const size of [16_000, 64_000, 256_000, 1_000_000]) {
    files.set(size, { name: `${size}`, content: await server.addFile(`${size}`, size) });
  }
});
afterAll(() => server?.stop());

/** What takes seconds, not minutes: every block of 512 costs a round trip, every loss a time-out of the client. */
function sizeFor({
  isLockstep,
  hasLargeBlocks,
  loss,
}: {
  isLockstep: boolean;
  hasLargeBlocks: boolean;
  loss: number;
}) {
  if (isLockstep) return hasLargeBlocks ? 64_000 : 16_000;
  return loss > 0.05 ? 256_000 : 1_000_000;
}

describe.concurrent('over a link that loses and delays, files arrive byte by byte as they are', () => {
  it.for(waysOf(clients))('$name', async (way) => {
    const runs = await Promise.all(
      LINKS.map((link, index) => {
        const hasLargeBlocks = way.options.blksize !== undefined;
        const file = files.get(sizeFor({ isLockstep: way.isLockstep, hasLargeBlocks, loss: link.loss }))!;
        return getThrough(server, way, file, link, { seed: index + 1 });
      }),
    );
    expect(runs.map(({ result }) => result)).toEqual(LINKS.map(() => 'identical'));
  });

  it.for([4, 16, 64])('a client of ours with a window of %i', async (windowsize) => {
    const runs = await Promise.all(
      LINKS.map(async (link, index) => {
        const relay = await LossyRelay.start(server, { ...link, seed: index + 1 });
        const { content: expected, name } = files.get(256_000)!;
        const got = await download(relay, name, { blksize: 1432, windowsize, expected });
        relay.close();
        return got.isAsExpected;
      }),
    );
    expect(runs).toEqual(LINKS.map(() => true));
  });

  it('packets that come twice, late and in another order do no harm', async () => {
    const links = [
      { doubled: 0.05, delayMs: 5 },
      { doubled: 0.01, delayMs: 5, jitterMs: 3 },
      { doubled: 0.05, delayMs: 5, jitterMs: 10, loss: 0.02 },
    ];
    const { content: expected, name } = files.get(64_000)!;
    for (const [index, link] of links.entries()) {
      for (const windowsize of [1, 8]) {
        const relay = await LossyRelay.start(server, { ...link, seed: index + 1 });
        const got = await download(relay, name, { blksize: 1432, windowsize, expected });
        relay.close();
        expect(got.isAsExpected, JSON.stringify(link)).toBe(true);
      }
    }
  });

  it('on a link slower than the server expects, nothing is sent twice for long', async () => {
    const { content: expected, name } = files.get(16_000)!;
    const relay = await LossyRelay.start(server, { delayMs: 250 });
    const got = await download(relay, name, { expected });
    relay.close();
    expect(got.isAsExpected).toBe(true);
    expect(relay.toClient.repeated).toBeLessThan(10);
  });
});

describe('no packet is the cause of another one for the rest of the transfer', () => {
  const windowed = waysOf(clients).filter(({ isLockstep }) => !isLockstep);
  const blocks = Math.floor(1_000_000 / 1432) + 1;

  it.for(windowed)('when one in a hundred is lost: $name', async (way) => {
    const run = await getThrough(server, way, files.get(1_000_000)!, { loss: 0.01, delayMs: 2 }, { seed: 3 });
    expect(run.result).toBe('identical');
    // About seven are lost, and half a window goes out again for each.
    expect(run.packets).toBeLessThan(blocks * 1.4);
  });

  it.for(windowed)('when one in a hundred comes twice: $name', async (way) => {
    const relay = await LossyRelay.start(server, { doubled: 0.01, delayMs: 2, seed: 3 });
    const { name } = files.get(1_000_000)!;
    const { code } = await way.client.get(relay, name, way.options);
    relay.close();
    expect(code).toBe(0);
    expect(relay.toClient.packets).toBeLessThan(blocks * 1.4);
  });
});
