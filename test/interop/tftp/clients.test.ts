import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cannotGet, compare, tftpClients, waysOf } from '../../support/tftp-clients.ts';
import { download } from '../../support/tftp-scripted.ts';
import { TftpServerProcess } from '../../support/tftp-server.ts';

const MB = 1024 * 1024;
const SIZES = [0, 1, 511, 512, 513, MB, 64 * MB];
const clients = await tftpClients();
const contents = new Map<number, Buffer>();
let server: TftpServerProcess;

beforeAll(async () => {
  server = await TftpServerProcess.start();
  for (const size of SIZES) contents.set(size, await server.addFile(`${size}`, size));
});
afterAll(() => server?.stop());

describe('on a clean link, files arrive byte by byte as they are', () => {
  describe.each(waysOf(clients))('$name', (way) => {
    // 64 MB in blocks of 512 also has the block numbers start again at 0.
    it.each(SIZES.filter((size) => cannotGet(way, size) === undefined))('%i bytes', async (size) => {
      const outcome = await way.client.get(server, `${size}`, way.options);
      expect(compare(outcome, contents.get(size)!)).toBe('identical');
    });
  });

  it('so it was told: every transfer ended well, with the options that the clients asked for', async () => {
    expect(server.stderr).toBe('');
    const failed = server.transfers.filter(({ result }) => result !== 'done');
    // curl, when it is told that the file is empty.
    expect(failed.filter(({ options }) => options.tsize !== '0')).toEqual([]);
    const asked = new Set(server.transfers.map(({ options }) => Object.keys(options).toSorted().join(' ')));
    expect(asked).toContain('');
    if (clients.some(({ can }) => can.windowsize)) expect(asked).toContain('blksize tsize windowsize');
    expect((await server.status()).transfers).toEqual([]);
  });
});

describe('block numbers start again at 0', () => {
  it('in a file of more than 94 MB with blocks of 1432 bytes', async () => {
    const size = 65_536 * 1432 + 100_000;
    const content = await server.addFile('beyond-94-mb', size);
    const way = waysOf(clients).find(({ options }) => options.windowsize !== undefined);
    if (way !== undefined) {
      const outcome = await way.client.get(server, 'beyond-94-mb', way.options);
      expect(compare(outcome, content)).toBe('identical');
    }
    const ours = await download(server, 'beyond-94-mb', { blksize: 1432, windowsize: 64, expected: content });
    expect(ours).toMatchObject({ isAsExpected: true, bytes: size });
  });

  it('several times, in small blocks', async () => {
    const content = await server.addFile('many-blocks', 8 * 200_000);
    const ours = await download(server, 'many-blocks', { blksize: 8, windowsize: 64, expected: content });
    expect(ours).toMatchObject({ isAsExpected: true, options: { blksize: '8', windowsize: '64' } });
  });
});

describe('netascii', () => {
  const text = 'DEFAULT linux\nLABEL linux\r\n\rKERNEL \r\0 x\n';

  it.each(clients.filter(({ can }) => can.netascii))(
    '$name gets the lines of its own system',
    async (client) => {
      await server.addFile('menu', text);
      const { content, output } = await client.get(server, 'menu', { mode: 'netascii' });
      // curl leaves them as they came.
      const expected = client.name === 'curl' ? toWire(text) : text;
      expect(content?.toString(), output).toBe(expected);
    },
  );

  it('is sent with the line ends of the protocol, and its size counts them', async () => {
    await server.addFile('menu', text);
    const ours = await download(server, 'menu', { mode: 'netascii', tsize: true });
    expect(ours.content.toString()).toBe(toWire(text));
    expect(ours.options).toEqual({ tsize: String(toWire(text).length) });
  });

  it('is not for images: a large file is refused with the advice to ask for it in binary', async () => {
    await expect(download(server, `${64 * MB}`, { mode: 'netascii' })).rejects.toThrow(
      /error 4: .* too large for netascii/,
    );
  });

  function toWire(lines: string): string {
    return lines.replace(/\r|\n/g, (end) => (end === '\n' ? '\r\n' : '\r\0'));
  }
});
