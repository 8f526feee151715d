import { createSocket, type Socket } from 'node:dgram';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { encodeError, encodeRequest } from '../../../server/tftp/codec.ts';
import { until } from '../../support/poll.ts';
import { TftpFuzzer } from '../../support/tftp-fuzz.ts';
import { download, ScriptedClient } from '../../support/tftp-scripted.ts';
import { TftpServerProcess } from '../../support/tftp-server.ts';

const MB = 1024 * 1024;
/** Another one finds other things. */
const SEED = Number(process.env.RAILHEAD_FUZZ_SEED ?? 20_261_116);
const SOCKETS = 40;
/** Few enough for the socket's buffer: they are all to be read, not dropped by the kernel. */
const BURST = 50;

interface Attacker {
  socket: Socket;
  /** The server's ports that it heard from lately. */
  heard: number[];
}

it.each([
  ['any', 100_000],
  ['single', 25_000],
])('with ports "%s", %i random and mutated datagrams do no harm', async (ports, datagrams) => {
  const server = await TftpServerProcess.start({ ports });
  try {
    await mkdir(join(server.folder, 'folder'));
    await server.addFile('small', 700);
    const content = await server.addFile('large', 300_000);
    const control = await ScriptedClient.open(server, { address: '127.0.0.2' });
    const fuzzer = new TftpFuzzer(SEED);
    const attackers = await Promise.all(Array.from({ length: SOCKETS }, (_, n) => newAttacker(n)));

    await attack(server, attackers, control, fuzzer, 3000);
    await leave(server, attackers);
    const before = await server.status();
    await attack(server, attackers, control, fuzzer, datagrams);
    const { transfers } = await server.status();
    await leave(server, attackers);
    const after = await server.status();

    console.log(
      `${datagrams} datagrams: ${transfers.length} transfers at the end, ${server.transfers.length} in all, ` +
        `${server.refusals.length} refusals told, heap ${signed(after.heap - before.heap)} MB, ` +
        `buffers ${signed(after.external - before.external)} MB, memory ${signed(after.rss - before.rss)} MB`,
    );
    expect(server.hasEnded).toBe(false);
    expect(server.stderr).toBe('');
    expect(after.sockets).toBe(before.sockets);
    expect(after.heap - before.heap).toBeLessThan(6 * MB);
    expect(after.external - before.external).toBeLessThan(4 * MB);
    const got = await download(server, 'large', { blksize: 1432, windowsize: 16, expected: content });
    expect(got.isAsExpected).toBe(true);
    control.close();
    for (const { socket } of attackers) socket.close();
  } finally {
    await server.stop();
  }
});

async function newAttacker(n: number): Promise<Attacker> {
  const socket = createSocket('udp4');
  const heard: number[] = [];
  socket.on('message', (_, { port }) => {
    if (!heard.includes(port)) heard.push(port);
    if (heard.length > 20) heard.shift();
  });
  await new Promise<void>((resolve) => {
    socket.bind(0, `127.0.0.${10 + (n % 10)}`, () => resolve());
  });
  return { socket, heard };
}

async function attack(
  server: TftpServerProcess,
  attackers: readonly Attacker[],
  control: ScriptedClient,
  fuzzer: TftpFuzzer,
  datagrams: number,
): Promise<void> {
  for (let sent = 0; sent < datagrams; sent += BURST) {
    for (let n = 0; n < BURST; n++) {
      const { socket } = fuzzer.pick(attackers);
      // Half of them at transfers that are under way, of this client or of another.
      const victim = fuzzer.pick(attackers);
      const isForTransfer = fuzzer.below(2) === 0 && victim.heard.length > 0;
      const port = isForTransfer ? fuzzer.pick(victim.heard) : server.port;
      socket.send(fuzzer.next(), port, server.address);
    }
    // It is answered after everything that came before it: the server is alive, and nothing was dropped.
    control.send(encodeRequest({ type: 'read', filename: 'missing', mode: 'octet', options: {} }));
    const { packet } = await control.take();
    if (packet?.type !== 'error') throw new Error(`the server answered ${JSON.stringify(packet)}`);
  }
}

/** Ends what was started; what nobody knows of times out. */
async function leave(server: TftpServerProcess, attackers: readonly Attacker[]): Promise<void> {
  await until('every transfer is over', async () => {
    for (const { socket, heard } of attackers) {
      for (const port of heard)
        if (port !== server.port) socket.send(encodeError(0, ''), port, server.address);
      socket.send(encodeError(0, ''), server.port, server.address);
    }
    return (await server.status()).transfers.length === 0;
  });
}

function signed(bytes: number): string {
  return `${bytes < 0 ? '' : '+'}${(bytes / MB).toFixed(1)}`;
}
