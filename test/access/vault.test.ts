import { stat, writeFile } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { vaultKeyFile } from '../../server/access/key-files.ts';
import { ensureVault, Vault } from '../../server/access/vault.ts';
import { tempFolder } from '../support/temp.ts';

const vault = new Vault(Buffer.alloc(32, 1));

it('gives back what was sealed, and only in its own place', () => {
  const sealed = vault.seal(Buffer.from('a secret'), 'n1');
  expect(sealed.includes('a secret')).toBe(false);
  expect(String(vault.unseal(sealed, 'n1'))).toBe('a secret');
  expect(() => vault.unseal(sealed, 'n2')).toThrow(/n2 can't be unsealed/);
  expect(vault.seal(Buffer.from('a secret'), 'n1').equals(sealed)).toBe(false);
});

it('notices every change, a cut, and another key', () => {
  const sealed = vault.seal(Buffer.from('a secret'), 'n1');
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed);
    changed[at]! ^= 1;
    expect(() => vault.unseal(changed, 'n1')).toThrow(/can't be unsealed/);
  }
  expect(() => vault.unseal(sealed.subarray(0, 10), 'n1')).toThrow(/can't be unsealed/);
  expect(() => new Vault(Buffer.alloc(32, 2)).unseal(sealed, 'n1')).toThrow(/can't be unsealed/);
});

it('makes the same token of the same facts, and another of others, however they are cut', () => {
  expect(vault.token('agent', 'a', 'b')).toMatch(/^[\w-]{22}$/);
  expect(vault.token('agent', 'a', 'b')).toBe(vault.token('agent', 'a', 'b'));
  const others = [
    vault.token('agent', 'ab'),
    vault.token('agent', 'a', 'b', ''),
    vault.token('attempt', 'a', 'b'),
    new Vault(Buffer.alloc(32, 2)).token('agent', 'a', 'b'),
  ];
  expect(new Set([vault.token('agent', 'a', 'b'), ...others]).size).toBe(5);
});

it('keeps its key where only its owner reads it, and says what is wrong with a damaged one', async () => {
  const dir = await tempFolder();
  const sealed = (await ensureVault(dir)).seal(Buffer.from('kept'), 'x');
  expect(String((await ensureVault(dir)).unseal(sealed, 'x'))).toBe('kept');
  expect((await stat(vaultKeyFile(dir))).mode & 0o777).toBe(0o600);
  await writeFile(vaultKeyFile(dir), 'short\n');
  await expect(ensureVault(dir)).rejects.toThrow(/vault\.key is not a key: 3 bytes in place of 32/);
});

it('takes a key from elsewhere, from a file or a command, and says why it can not', async () => {
  const [keys, other] = [await tempFolder(), await tempFolder()];
  const file = `${other}/key`;
  await writeFile(file, `${Buffer.alloc(32, 1).toString('base64')}\n`);
  const sealed = vault.seal(Buffer.from('a secret'), 'n1');
  for (const source of [{ file }, { command: `cat ${file}` }, { file: 'none', command: `cat ${file}` }]) {
    expect(String((await ensureVault(keys, source)).unseal(sealed, 'n1'))).toBe('a secret');
  }
  // None is made in its place.
  await expect(ensureVault(keys, { file: `${other}/none` })).rejects.toThrow(/There is no vault key in/);
  await expect(ensureVault(keys, { command: 'echo c2VjcmV0; exit 3' })).rejects.toThrow(
    /^The vault key command failed \(3\)\.$/,
  );
  await expect(ensureVault(keys, { command: 'echo c2VjcmV0' })).rejects.toThrow(/is not a key: 6 bytes/);
  await expect(stat(vaultKeyFile(keys))).rejects.toThrow('ENOENT');
});
