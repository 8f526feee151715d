import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createMessage, readKey, readSignature, verify } from 'openpgp';
import { describe, expect, it } from 'vitest';
import { Signatures } from '../../server/feed/signatures.ts';
import { FeedKey } from '../../server/feed/signing-key.ts';
import { tempFolder } from '../support/temp.ts';

describe('the key of the feed', () => {
  it('is made once, and only its owner can read it', async () => {
    const dir = await tempFolder();
    const key = new FeedKey(dir);
    await key.start();
    expect(await readdir(dir)).toEqual(['feed-signing.asc']);
    expect((await stat(join(dir, 'feed-signing.asc'))).mode & 0o777).toBe(0o600);
    const again = new FeedKey(dir);
    await again.start();
    expect(await again.fingerprint()).toBe(await key.fingerprint());
    expect(await again.publicKeyring()).toEqual(await key.publicKeyring());
  });

  it('signs also when the clock of this machine is at its beginning', async () => {
    const key = new FeedKey(await tempFolder());
    await key.start();
    const sums = Buffer.from('sums');
    const { signatures } = await verify({
      message: await createMessage({ binary: sums }),
      signature: await readSignature({ binarySignature: await key.sign(sums, 0) }),
      verificationKeys: await readKey({ binaryKey: await key.publicKeyring() }),
    });
    await expect(signatures[0]!.verified).resolves.toBe(true);
  });

  it('is never made anew in place of one that is damaged', async () => {
    const dir = await tempFolder();
    const file = join(dir, 'feed-signing.asc');
    await writeFile(file, 'something else');
    const key = new FeedKey(dir);
    await key.start();
    await expect(key.sign(Buffer.from('x'), 0)).rejects.toMatchObject({ code: 'RH_DATA_UNUSABLE' });
    expect(await readFile(file, 'utf8')).toBe('something else');
  });
});

describe('signatures', () => {
  it('are made once for each content, and again after a failure', async () => {
    const made: string[] = [];
    let fails = true;
    const signatures = new Signatures(async (bytes) => {
      made.push(Buffer.from(bytes).toString());
      if (fails) throw new Error('no key');
      return Buffer.from(`signed ${made.length}`);
    });
    await expect(signatures.of(Buffer.from('a'))).rejects.toThrow('no key');
    fails = false;
    const [one, other] = await Promise.all([
      signatures.of(Buffer.from('a')),
      signatures.of(Buffer.from('a')),
    ]);
    expect(one).toEqual(other);
    await signatures.of(Buffer.from('b'));
    await signatures.of(Buffer.from('a'));
    expect(made).toEqual(['a', 'a', 'b']);
  });
});
