import { mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { encodeRequest } from '../../../server/tftp/codec.ts';
import { type Outcome, type TftpClient, tftpClients } from '../../support/tftp-clients.ts';
import { ScriptedClient } from '../../support/tftp-scripted.ts';
import { TftpServerProcess } from '../../support/tftp-server.ts';

const NOT_FOUND = 1;
const ACCESS_VIOLATION = 2;
const ILLEGAL_OPERATION = 4;
const clients = await tftpClients();
let server: TftpServerProcess;

beforeAll(async () => {
  server = await TftpServerProcess.start();
  await server.addFile('inside/file', 'inside');
  const outside = join(dirname(server.folder), 'outside');
  await mkdir(outside);
  await writeFile(join(outside, 'secret'), 'secret');
  await symlink(join(outside, 'secret'), join(server.folder, 'link-out'));
  await symlink(outside, join(server.folder, 'folder-out'));
  await symlink('link-round', join(server.folder, 'link-round'));
  await symlink('inside/file', join(server.folder, 'link-inside'));
});
afterAll(async () => {
  await server?.stop();
  expect(server?.stderr).toBe('');
});

/** What the client shows of an error: each in its own way, and none of them all of it. */
function expectRefusal(
  { name }: TftpClient,
  { output, code, content }: Outcome,
  error: number,
  reason: string,
) {
  // tftp-hpa and atftp make an empty file before they ask.
  expect(content?.length ?? 0).toBe(0);
  switch (name) {
    case 'tftp-hpa': // whose exit status is 0, always
      return expect(output).toBe(`Error code ${error}: ${reason}\n`);
    case 'atftp':
      expect(code).not.toBe(0);
      return expect(output).toContain(`error received from server <${reason}>`);
    case 'curl':
      // CURLE_TFTP_NOTFOUND, CURLE_TFTP_PERM; its message is about something else.
      return expect(code).toBe({ [NOT_FOUND]: 68, [ACCESS_VIOLATION]: 69 }[error]);
    default:
      expect(code).not.toBe(0);
      return expect(output).toContain(`server error: (${error}) ${reason}`);
  }
}

describe.each(clients)('$name is told', (client) => {
  it('that a file is missing', async () => {
    const file = `missing-for-${client.name}`;
    expectRefusal(client, await client.get(server, file), NOT_FOUND, `there is no file ${file}`);
    expect(await server.refused(file)).toMatchObject({ code: NOT_FOUND, reason: `there is no file ${file}` });
  });

  it('that nothing can be written', async () => {
    const file = `written-by-${client.name}`;
    const reason = 'this server is read-only';
    expectRefusal(client, await client.put(server, file, 'text'), ACCESS_VIOLATION, reason);
    expect(await server.refused(file)).toMatchObject({ code: ACCESS_VIOLATION, reason });
  });

  it('that it may not leave the folder', async () => {
    const file = `../outside/${client.name}`;
    const reason = 'the name leads out of the root';
    expectRefusal(client, await client.get(server, file), ACCESS_VIOLATION, reason);
    expect(await server.refused(file)).toMatchObject({ code: ACCESS_VIOLATION, reason });
  });
});

describe('no name leads out of the folder', () => {
  it.each([
    ['../outside/secret', ACCESS_VIOLATION, /out of the root/],
    ['inside/../../outside/secret', ACCESS_VIOLATION, /out of the root/],
    ['inside/../inside/file', ACCESS_VIOLATION, /out of the root/],
    ['..\\outside\\secret', ACCESS_VIOLATION, /out of the root/],
    ['inside\\..\\..\\outside/secret', ACCESS_VIOLATION, /out of the root/],
    ['/../outside/secret', ACCESS_VIOLATION, /out of the root/],
    ['//..//outside/secret', ACCESS_VIOLATION, /out of the root/],
    ['..', ACCESS_VIOLATION, /out of the root/],
    ['link-out', ACCESS_VIOLATION, /link that leads out/],
    ['folder-out/secret', ACCESS_VIOLATION, /link that leads out/],
    ['link-round', ACCESS_VIOLATION, /in a circle/],
    ['inside', ACCESS_VIOLATION, /not a file/],
    ['.', ACCESS_VIOLATION, /empty/],
    ['/', ACCESS_VIOLATION, /empty/],
    ['/etc/passwd', NOT_FOUND, /no file etc\/passwd/],
    ['inside/file/', NOT_FOUND, /^$/],
    ['inside/file/x', NOT_FOUND, /no file/],
    ['C:\\windows\\win.ini', ACCESS_VIOLATION, /drive letter/],
    ['%2e%2e/outside/secret', NOT_FOUND, /no file/],
    ['..%2foutside/secret', NOT_FOUND, /no file/],
    ['\u0001name', ACCESS_VIOLATION, /control characters/],
    ['a\nb', ACCESS_VIOLATION, /control characters/],
    ['~/secret', NOT_FOUND, /no file/],
    ['x'.repeat(256), ACCESS_VIOLATION, /too long/],
    ['x/'.repeat(200), ACCESS_VIOLATION, /too long/],
    ['x'.repeat(600), ILLEGAL_OPERATION, /malformed/],
    [`${'x'.repeat(250)}`, NOT_FOUND, /no file/],
  ])('%j', async (filename, code, reason) => {
    const answer = await ask(encodeRequest({ type: 'read', filename, mode: 'octet', options: {} }));
    // A slash at the end is no harm: firmware glues names together in many ways.
    if (filename === 'inside/file/') return expect(answer).toMatchObject({ type: 'data', block: 1 });
    expect(answer).toEqual({ type: 'error', code, message: expect.stringMatching(reason) });
  });

  it('a zero byte ends the name: what follows is the mode', async () => {
    const filename = 'inside/file\0/../../outside/secret';
    const answer = await ask(encodeRequest({ type: 'read', filename, mode: 'octet', options: {} }));
    expect(answer).toMatchObject({ type: 'error', code: ILLEGAL_OPERATION });
  });

  it('a link that stays inside is followed', async () => {
    const answer = await ask(
      encodeRequest({ type: 'read', filename: 'link-inside', mode: 'octet', options: {} }),
    );
    expect(answer).toMatchObject({ type: 'data', payload: Buffer.from('inside') });
  });

  it('a link that is exchanged for one to the outside while it is asked for never shows the outside', async () => {
    const link = join(server.folder, 'unsteady');
    let stop = false;
    const exchange = (async () => {
      while (!stop) {
        for (const target of ['inside/file', '../outside/secret']) {
          await rm(link, { force: true });
          await symlink(target, link);
        }
      }
    })();
    const request = encodeRequest({ type: 'read', filename: 'unsteady', mode: 'octet', options: {} });
    const answers = [];
    for (let n = 0; n < 300; n++) answers.push(await ask(request));
    stop = true;
    await exchange;
    const seen = answers.filter((answer) => answer?.type === 'data').map(({ payload }) => String(payload));
    expect(new Set(seen)).toEqual(new Set(['inside']));
  });
});

describe('requests that make no sense', () => {
  it.each([
    ['without a mode', Buffer.from('\0\x01file\0')],
    ['without a zero at the end', Buffer.from('\0\x01file\0octet')],
    ['without a name', Buffer.from('\0\x01\0octet\0')],
    ['of the mode "mail"', Buffer.from('\0\x01file\0mail\0')],
    ['of no mode', Buffer.from('\0\x01file\0\0')],
    ['with the same option twice', Buffer.from('\0\x01file\0octet\0blksize\x00512\0BLKSIZE\x001024\0')],
    ['with only a number', Buffer.from('\0\x01')],
    ['with hundreds of options', Buffer.from(`\0\x01file\0octet\0${'a\x001\0'.repeat(300)}`)],
  ])('%s are illegal', async (_, bytes) => {
    expect(await ask(bytes)).toMatchObject({ type: 'error', code: ILLEGAL_OPERATION });
  });

  it.each([
    ['blksize', '0'],
    ['blksize', '7'],
    ['blksize', '65465'],
    ['blksize', '-512'],
    ['blksize', '512.5'],
    ['blksize', '0x200'],
    ['blksize', ''],
    ['blksize', '99999999999999999999'],
    ['windowsize', '0'],
    ['windowsize', '65536'],
    ['timeout', '0'],
    ['timeout', '256'],
    ['multicast', ''],
    ['__proto__', '1'],
  ])('the option %s "%s" is left out, and the file is sent without', async (name, value) => {
    const options = Object.fromEntries([[name, value]]);
    const answer = await ask(
      encodeRequest({ type: 'read', filename: 'inside/file', mode: 'OCTET', options }),
    );
    expect(answer).toMatchObject({ type: 'data', block: 1 });
  });

  it('the names of options count in any case, and what is too large is made to fit', async () => {
    const options = { BlkSize: '65464', WINDOWSIZE: '65535', tSize: '0', Timeout: '3' };
    const answer = await ask(
      encodeRequest({ type: 'read', filename: 'inside/file', mode: 'octet', options }),
    );
    expect(answer).toEqual({
      type: 'oack',
      options: { blksize: '1468', windowsize: '64', tsize: '6', timeout: '3' },
    });
  });
});

it('thousands of refusals to one client are a handful of events', async () => {
  const before = server.refusals.length;
  const client = await ScriptedClient.open(server, { address: '127.0.0.77' });
  onTestFinished(() => client.close());
  for (let n = 0; n < 3000; n++) {
    client.read(`scan-${n}`);
    if (n % 50 === 49) await client.take();
  }
  await client.takeAll(300);
  const told = server.refusals.slice(before).filter((refusal) => refusal.client.startsWith('127.0.0.77:'));
  expect(told.length).toBeGreaterThan(10);
  expect(told.length).toBeLessThanOrEqual(100);
});

/** Sends one datagram and returns the answer. */
async function ask(bytes: Buffer) {
  const client = await ScriptedClient.open(server);
  try {
    client.send(bytes);
    const { packet, port } = await client.take();
    // Whatever was started ends here.
    if (packet?.type !== 'error') client.send(Buffer.from([0, 5, 0, 0, 0]), port);
    return packet;
  } finally {
    client.close();
  }
}
