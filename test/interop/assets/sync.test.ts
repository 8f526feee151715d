import { createHash, randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { JobFile, JobStatus } from '../../../server/assets/job.ts';
import { inventoryOf, makeAssets, type TestAssets } from '../../assets/make.ts';
import { type Origin, startOrigin } from '../../assets/origin.ts';
import { publishRelease, publishSigned, publishSysexts, setCurrent } from '../../assets/release.ts';
import { makeKey, signatureOf, type TestKey } from '../../assets/signing.ts';
import { until } from '../../support/poll.ts';
import { tempFolder } from '../../support/temp.ts';

const KERNEL = 'flatcar_production_pxe.vmlinuz';
const INITRD = 'flatcar_production_pxe_image.cpio.gz';
const IMAGE = 'flatcar_production_image.bin.bz2';
const FOLDER = 'flatcar/stable/amd64-usr/4593.2.5';
const AT = '/stable/amd64-usr/4593.2.5';

let key: TestKey;
let origin: Origin;

beforeAll(async () => {
  key = await makeKey();
});

beforeEach(async () => {
  origin = await startOrigin();
  origin.files.set('/key.asc', Buffer.from(key.publicArmored));
  await publishRelease(origin, key, { version: '4593.2.5' });
  publishSysexts(origin, 'kubernetes', {
    'kubernetes-v1.36.4-x86-64.raw': randomBytes(20_000),
    'kubernetes-v1.35.0-x86-64.raw': randomBytes(10),
  });
  publishSysexts(origin, 'containerd', { 'containerd-2.1.5-x86-64.raw': randomBytes(10_000) });
});

const states = ({ files }: JobStatus) =>
  Object.fromEntries(files.map(({ name, state }) => [name.split('/').at(-1), state]));
const failed = ({ files }: JobStatus): JobFile | undefined => files.find(({ state }) => state === 'failed');
const kinds = async (assets: TestAssets) => (await assets.events()).map(({ kind }) => kind);

/** What anybody could be served. */
async function served(assetsDir: string): Promise<string[]> {
  const entries = await readdir(assetsDir, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(assetsDir.length + 1))
    .filter((path) => !path.split('/').some((part) => part.startsWith('.')))
    .sort();
}

describe('a sync', () => {
  it('brings all that the inventory needs, as flatcar-install asks for it, and nothing else', async () => {
    const inventory = inventoryOf({ install: 'disk', cluster: true });
    // So large that it is checked in a thread.
    await publishSigned(origin, AT, IMAGE, randomBytes(9_000_000), key);
    const assets = await makeAssets(origin, key, { inventory });
    const status = await assets.sync();
    expect(status).toMatchObject({ state: 'done', reason: null });
    expect(await served(assets.assetsDir)).toEqual(
      [
        ...[KERNEL, INITRD, IMAGE, 'version.txt'].flatMap((file) =>
          ['', '.sig', '.DIGESTS'].map((ext) => `${FOLDER}/${file}${ext}`),
        ),
        `${FOLDER}/flatcar_production_update.gz`,
        `${FOLDER}/flatcar_production_update.gz.sha256`,
        'sysext/containerd/containerd-2.1.5-x86-64.raw',
        'sysext/kubernetes/kubernetes-v1.36.4-x86-64.raw',
      ].sort(),
    );
    const image = await readFile(join(assets.assetsDir, FOLDER, IMAGE));
    expect(image.equals(origin.files.get(`${AT}/${IMAGE}`)!)).toBe(true);
    const [named] = await assets.contents.names(`${FOLDER}/${IMAGE}`);
    expect(named).toMatchObject({
      origin: `${origin.url}${AT}/${IMAGE}`,
      verifiedHow: expect.stringMatching(/^OpenPGP signature by [0-9A-F]{40}, SHA-512 in its DIGESTS$/),
    });
    expect(status.fetched).toBeGreaterThan(image.length);
    expect(await kinds(assets)).toEqual(
      expect.arrayContaining(['assets.job-started', 'assets.added', 'assets.job-ended']),
    );
    expect((await assets.service.list()).every(({ state, needed }) => state === 'there' && needed)).toBe(
      true,
    );
    expect(await assets.service.prune({ dryRun: true })).toEqual([]);
  });

  it('fetches nothing again', async () => {
    const assets = await makeAssets(origin, key);
    await assets.sync();
    const before = origin.requests.length;
    expect(await assets.sync()).toMatchObject({ state: 'done', fetched: 0 });
    expect(origin.requests).toHaveLength(before);
  });

  it('is one at a time: who asks for the same sees the one that runs; others are refused', async () => {
    origin.bytesPerSecond = 300_000;
    const assets = await makeAssets(origin, key);
    const first = assets.service.sync();
    expect(assets.service.sync().startedAt).toBe(first.startedAt);
    expect(() => assets.service.verify()).toThrow('A job is under way: sync');
    await expect(assets.service.prune({ dryRun: false })).rejects.toMatchObject({ code: 'RH_ASSETS_BUSY' });
    const stopped = await until('bytes come', () => (assets.service.status?.fetched ?? 0) > 100_000).then(
      () => assets.service.cancel(),
    );
    expect(stopped).toMatchObject({ state: 'stopped' });
    expect(await assets.service.cancel()).toBeUndefined();
    origin.bytesPerSecond = undefined;
    expect(await assets.sync()).toMatchObject({ state: 'done' });
    const size = origin.files.get(`${AT}/${INITRD}`)!.length;
    expect(origin.gets(`${AT}/${INITRD}`).at(-1)?.range).toMatch(/^bytes=\d+-$/);
    expect(origin.sent(`${AT}/${INITRD}`)).toBeLessThan(size * 1.5);
  });

  it('goes on with the others when one can’t be had', async () => {
    origin.files.delete(`${AT}/${KERNEL}`);
    const assets = await makeAssets(origin, key);
    const status = await assets.sync();
    expect(status.state).toBe('failed');
    expect(failed(status)).toMatchObject({
      name: `${FOLDER}/${KERNEL}`,
      reason: expect.stringContaining('404'),
    });
    expect(states(status)).toMatchObject({ [INITRD]: 'added', 'version.txt': 'added' });
  });

  it('takes what somebody has put there already, if it is right', async () => {
    const assets = await makeAssets(origin, key);
    const path = join(assets.assetsDir, FOLDER, INITRD);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, origin.files.get(`${AT}/${INITRD}`)!);
    await writeFile(join(assets.assetsDir, FOLDER, KERNEL), 'not it');
    expect(await assets.sync()).toMatchObject({ state: 'done' });
    expect(origin.sent(`${AT}/${INITRD}`)).toBe(0);
    expect(await assets.contents.recordedSize(`${FOLDER}/${INITRD}`)).toBe(300_000);
    expect((await readFile(join(assets.assetsDir, FOLDER, KERNEL))).length).toBe(70_000);
  });

  it('begins nothing that the disk has no room for', async () => {
    const assets = await makeAssets(origin, key, {
      space: { minFreeBytes: 1_000_000, freeBytes: async () => 1_100_000 },
    });
    const status = await assets.sync();
    expect(status).toMatchObject({ state: 'failed', reason: expect.stringContaining('There is no room') });
    expect(origin.sent(`${AT}/${INITRD}`)).toBe(0);
  });
});

describe('a file that is not right', () => {
  const wrongs: [string, string, () => Promise<void> | void][] = [
    [
      'with a signature of another file',
      'not one of this file',
      async () => void origin.files.set(`${AT}/${KERNEL}.sig`, await signatureOf(Buffer.from('other'), key)),
    ],
    [
      'signed by somebody else',
      "can't vouch for it",
      async () => publishSigned(origin, AT, KERNEL, randomBytes(100), await makeKey()),
    ],
    ['without a signature', 'has no signature', () => void origin.files.delete(`${AT}/${KERNEL}.sig`)],
    [
      'with a signature that is none',
      'the signature is unreadable',
      () => void origin.files.set(`${AT}/${KERNEL}.sig`, Buffer.from('<html>Welcome</html>')),
    ],
    [
      'that is large and signed by somebody else',
      "can't vouch for it",
      async () => publishSigned(origin, AT, KERNEL, randomBytes(1_500_000), await makeKey()),
    ],
    [
      'whose bytes were changed',
      'not one of this file',
      () => {
        const bytes = Buffer.from(origin.files.get(`${AT}/${KERNEL}`)!);
        bytes[5000]! ^= 1;
        origin.files.set(`${AT}/${KERNEL}`, bytes);
      },
    ],
    [
      'that its DIGESTS don’t know',
      'SHA-512',
      () => void origin.files.set(`${AT}/${KERNEL}.DIGESTS`, Buffer.from('# SHA512 HASH\n')),
    ],
  ];

  it.each(wrongs)('%s is never served', async (_what, why, spoil) => {
    await spoil();
    const assets = await makeAssets(origin, key);
    const status = await assets.sync();
    expect(failed(status)).toMatchObject({
      name: `${FOLDER}/${KERNEL}`,
      reason: expect.stringContaining(why),
    });
    expect(await served(assets.assetsDir)).not.toContain(`${FOLDER}/${KERNEL}`);
    expect(await assets.contents.resolve(`${FOLDER}/${KERNEL}`)).toBeUndefined();
    if (why === 'has no signature') return;
    expect(await kinds(assets)).toContain('assets.refused');
    const note = await readFile(join(assets.assetsDir, '.bad', FOLDER, `${KERNEL}.reason.txt`), 'utf8');
    expect(note).toContain(why);
    // A key file can be mended without fetching the image again; bytes can't.
    const bad = await readdir(join(assets.assetsDir, '.bad', FOLDER));
    expect(bad.includes(KERNEL)).toBe(why !== "can't vouch for it");
  });

  it('is right the next time, when the server has mended it', async () => {
    const right = origin.files.get(`${AT}/${KERNEL}`)!;
    origin.files.set(`${AT}/${KERNEL}`, randomBytes(right.length));
    const assets = await makeAssets(origin, key);
    expect(await assets.sync()).toMatchObject({ state: 'failed' });
    origin.files.set(`${AT}/${KERNEL}`, right);
    expect(await assets.sync()).toMatchObject({ state: 'done' });
    const pruned = await assets.service.prune({ dryRun: true });
    expect(pruned.map(({ name }) => name)).toContain(`.bad/${FOLDER}/${KERNEL}`);
    await assets.service.prune({ dryRun: false });
    expect(await readdir(assets.assetsDir)).not.toContain('.bad');
  });

  it('is fetched once more when what was there before was the fault', async () => {
    const assets = await makeAssets(origin, key);
    const partial = join(
      assets.assetsDir,
      '.content',
      'partial',
      `${FOLDER}/${INITRD}`.replaceAll('/', '__'),
    );
    await mkdir(dirname(partial), { recursive: true });
    await writeFile(`${partial}.partial`, Buffer.alloc(100_000));
    const { etagOf } = await import('../../assets/origin.ts');
    const validator = etagOf(origin.files.get(`${AT}/${INITRD}`)!);
    const note = { url: `${origin.url}${AT}/${INITRD}`, validator, total: 300_000 };
    await writeFile(`${partial}.partial.note`, JSON.stringify(note));
    expect(await assets.sync()).toMatchObject({ state: 'done' });
    expect(origin.gets(`${AT}/${INITRD}`).map(({ range }) => range)).toEqual(['bytes=100000-', undefined]);
  });

  it('of the bakery is never served either', async () => {
    origin.files.set('/bakery/kubernetes/kubernetes-v1.36.4-x86-64.raw', randomBytes(20_000));
    origin.files.set('/bakery/containerd/SHA256SUMS', Buffer.from('\n'));
    const assets = await makeAssets(origin, key, { inventory: inventoryOf({ cluster: true }) });
    const status = await assets.sync();
    const reasons = status.files.flatMap(({ reason }) => reason ?? []).sort();
    expect(reasons).toEqual([
      expect.stringContaining('no list of SHA-256 sums has containerd-2.1.5-x86-64.raw'),
      expect.stringContaining('its SHA-256 is not the one in the list'),
    ]);
    expect((await served(assets.assetsDir)).filter((name) => name.startsWith('sysext/'))).toEqual([]);
  });
});

describe('the signing key', () => {
  const YEAR = 365 * 86_400;
  const longAgo = new Date(Date.now() - 2 * YEAR * 1000);

  it.each([
    ['primary', { expiresInSeconds: YEAR }],
    ['subkey', { subkeyExpiresInSeconds: YEAR }],
  ])('is refused when its %s has expired, and the image is kept for a newer one', async (_what, expiry) => {
    const old = await makeKey({ date: longAgo, ...expiry });
    const bytes = randomBytes(1000);
    origin.files.set(`${AT}/${KERNEL}`, bytes);
    origin.files.set(
      `${AT}/${KERNEL}.sig`,
      await signatureOf(bytes, old, new Date(longAgo.getTime() + 1000)),
    );
    origin.files.delete(`${AT}/${KERNEL}.DIGESTS`);
    origin.files.set('/key.asc', Buffer.from(old.publicArmored));
    const assets = await makeAssets(origin, old);
    const status = await assets.sync();
    expect(status.files.find(({ name }) => name.endsWith(KERNEL))?.reason).toMatch(
      /which expired on \d{4}-\d\d-\d\d/,
    );
    expect(await served(assets.assetsDir)).toEqual([]);
    await assets.sync();
    expect(origin.sent(`${AT}/${KERNEL}`)).toBe(bytes.length);
  });

  it('is fetched anew when the file here does not know the subkey', async () => {
    const assets = await makeAssets(origin, key);
    const { PublicKey, readKey } = await import('openpgp');
    const stripped = await readKey({ armoredKey: key.publicArmored });
    expect(stripped).toBeInstanceOf(PublicKey);
    stripped.subkeys.length = 0;
    await assets.tools.key.accept(stripped.armor(), 'a test');
    expect(await assets.sync()).toMatchObject({ state: 'done' });
    expect(origin.gets('/key.asc')).toHaveLength(1);
  });

  it('is not taken from anybody: its fingerprint is pinned', async () => {
    origin.files.set('/key.asc', Buffer.from((await makeKey()).publicArmored));
    const assets = await makeAssets(origin, key);
    const status = await assets.sync();
    expect(failed(status)?.reason).toContain(`no key with the fingerprint ${key.fingerprint}`);
    expect(await served(assets.assetsDir)).toEqual([]);
  });
});

describe('current', () => {
  const inventory = inventoryOf({ version: 'current' });
  const at = 'flatcar/stable/amd64-usr';

  it('is resolved once, and stays until it is refreshed', async () => {
    setCurrent(origin, '4593.2.5');
    const assets = await makeAssets(origin, key, { inventory });
    expect(await assets.sync()).toMatchObject({ state: 'done' });
    const kernel = () => readFile(join(assets.assetsDir, at, 'current', KERNEL));
    expect((await kernel()).equals(origin.files.get(`${AT}/${KERNEL}`)!)).toBe(true);
    expect(await readFile(join(assets.assetsDir, at, 'current/version.txt'), 'utf8')).toContain('4593.2.5');
    await publishRelease(origin, key, { version: '4593.3.0' });
    setCurrent(origin, '4593.3.0');
    await assets.sync();
    expect(await served(assets.assetsDir)).not.toContain(`${at}/4593.3.0/${KERNEL}`);
    expect(await assets.sync({ refresh: true })).toMatchObject({ state: 'done' });
    const newer = origin.files.get(`/stable/amd64-usr/4593.3.0/${KERNEL}`)!;
    expect((await kernel()).equals(newer)).toBe(true);
    const pins = (await assets.events()).flatMap((event) =>
      event.kind === 'assets.pinned' ? [event.data] : [],
    );
    expect(pins).toEqual([
      { image: `${at}/current`, version: '4593.2.5' },
      { image: `${at}/current`, version: '4593.3.0', previous: '4593.2.5' },
    ]);
    const pruned = (await assets.service.prune({ dryRun: true })).map(({ name }) => name);
    expect(pruned).toContain(`${at}/4593.2.5/${KERNEL}`);
    expect(pruned.some((name) => name.includes('current') || name.includes('4593.3.0'))).toBe(false);
  });

  it('stays what it was when the new version can’t be had, or is an older one', async () => {
    setCurrent(origin, '4593.2.5');
    const assets = await makeAssets(origin, key, { inventory });
    await assets.sync();
    setCurrent(origin, '4593.4.0');
    expect(await assets.sync({ refresh: true })).toMatchObject({ state: 'failed' });
    const text = () => readFile(join(assets.assetsDir, at, 'current/version.txt'), 'utf8');
    expect(await text()).toContain('4593.2.5');
    setCurrent(origin, '4500.0.0');
    const status = await assets.sync({ refresh: true });
    expect(failed(status)?.reason).toContain('older than 4593.2.5');
    expect(await text()).toContain('4593.2.5');
  });
});

describe('verify', () => {
  it('finds what has changed, takes it out of service, and sync brings it back', async () => {
    const assets = await makeAssets(origin, key);
    await assets.sync();
    assets.service.verify();
    expect(await assets.ended()).toMatchObject({ state: 'done' });
    const path = join(assets.assetsDir, FOLDER, INITRD);
    await chmod(path, 0o644);
    const bytes = await readFile(path);
    bytes[9]! ^= 1;
    await writeFile(path, bytes);
    await rm(join(assets.assetsDir, FOLDER, 'version.txt'));
    assets.service.verify();
    const status = await assets.ended();
    expect(states(status)).toMatchObject({ [INITRD]: 'failed', 'version.txt': 'failed', [KERNEL]: 'there' });
    expect(await served(assets.assetsDir)).not.toContain(`${FOLDER}/${INITRD}`);
    expect(await readdir(join(assets.assetsDir, '.bad', FOLDER))).toContain(INITRD);
    expect(await assets.sync()).toMatchObject({ state: 'done' });
    expect((await readFile(path)).equals(origin.files.get(`${AT}/${INITRD}`)!)).toBe(true);
  });

  it('sees a file that was cut without reading it', async () => {
    const assets = await makeAssets(origin, key);
    await assets.sync();
    await chmod(join(assets.assetsDir, FOLDER, KERNEL), 0o644);
    await truncate(join(assets.assetsDir, FOLDER, KERNEL), 10);
    assets.service.verify();
    expect(failed(await assets.ended())?.reason).toBe('it has 10 bytes instead of 70000');
  });
});

describe('prune', () => {
  it('keeps what a boot under way was offered', async () => {
    const assets = await makeAssets(origin, key);
    await assets.sync();
    assets.setInventory(inventoryOf({ version: '4593.3.0' }));
    const { insertAttempt } = await import('../../../server/store/attempts.ts');
    const attempt = {
      token: 't',
      seed: 's',
      host: 'n1',
      action: 'run',
      created_at: 1,
      opened_at: null,
    } as const;
    const rest = {
      opened_from: null,
      stage: 'menu',
      stage_at: 1,
      seen: '[]',
      overdue_at: null,
      closed_at: null,
    };
    const offer = JSON.stringify({ image: FOLDER });
    await insertAttempt(assets.tools.store.db, { ...attempt, ...rest, offer, outcome: null } as never);
    expect(await assets.service.prune({ dryRun: false })).toEqual([]);
    await assets.tools.store.db.updateTable('attempts').set({ closed_at: 2 }).execute();
    const would = await assets.service.prune({ dryRun: true });
    expect(would.map(({ name }) => name)).toContain(`${FOLDER}/${KERNEL}`);
    expect(await served(assets.assetsDir)).toContain(`${FOLDER}/${KERNEL}`);
    await assets.service.prune({ dryRun: false });
    expect(await served(assets.assetsDir)).toEqual([]);
    expect(await assets.contents.usage()).toMatchObject({ bytes: 0, names: 0 });
  });
});

describe('import', () => {
  /** The origin's files as somebody has copied them to a stick. */
  async function stick(pick: (path: string) => string | undefined): Promise<string> {
    const dir = await tempFolder();
    for (const [path, bytes] of origin.files) {
      const to = pick(path);
      if (to === undefined) continue;
      await mkdir(dirname(join(dir, to)), { recursive: true });
      await writeFile(join(dir, to), bytes);
    }
    return dir;
  }
  const nowhere = { url: 'http://127.0.0.1:9' };

  it('takes a copy of a mirror, without any network', async () => {
    const inventory = inventoryOf({ install: 'disk', cluster: true });
    const dir = await stick((path) =>
      path === '/key.asc' ? 'Flatcar_Image_Signing_Key.asc' : path.replace(/^\/update/, '/stable'),
    );
    const assets = await makeAssets(nowhere, key, { inventory });
    assets.service.import(dir);
    const status = await assets.ended();
    expect(status).toMatchObject({ state: 'done', fetched: 0, reason: null });
    expect(status.files.every(({ state }) => state === 'added')).toBe(true);
    const [image] = await assets.contents.names(`${FOLDER}/${IMAGE}`);
    expect(image?.verifiedHow).toContain('OpenPGP');
    expect(
      createHash('sha256')
        .update(await readFile(join(dir, AT, IMAGE)))
        .digest('hex'),
    ).toBe(image?.sha256);
    expect((await assets.contents.resolve(`${FOLDER}/${IMAGE}`))?.origin).toMatch(/^import:/);
  });

  it('takes files that lie in one folder, for "current", too', async () => {
    const dir = await stick((path) =>
      path === '/key.asc' ? 'signing-key.asc' : path.startsWith(AT) ? path.split('/').at(-1) : undefined,
    );
    const assets = await makeAssets(nowhere, key, { inventory: inventoryOf({ version: 'current' }) });
    assets.service.import(dir);
    expect(await assets.ended()).toMatchObject({ state: 'done' });
    expect(await served(assets.assetsDir)).toContain(`flatcar/stable/amd64-usr/current/${KERNEL}`);
  });

  it('takes one file, and leaves the rest', async () => {
    const dir = await stick((path) => (path === '/key.asc' ? 'key.asc' : path));
    const assets = await makeAssets(nowhere, key);
    assets.service.import(join(dir, AT, INITRD));
    const status = await assets.ended();
    // There is no key in that folder, and none can be fetched.
    expect(status.state).toBe('failed');
    await assets.tools.key.accept(key.publicArmored, 'a test');
    assets.service.import(join(dir, AT, INITRD));
    expect(await assets.ended()).toMatchObject({ state: 'done' });
    expect(await served(assets.assetsDir)).toContain(`${FOLDER}/${INITRD}`);
    expect(await served(assets.assetsDir)).not.toContain(`${FOLDER}/${KERNEL}`);
  });

  it('refuses what is not right, and leaves the stick as it is', async () => {
    const dir = await stick((path) => (path === '/key.asc' ? 'key.asc' : path));
    await writeFile(join(dir, AT, KERNEL), 'something else');
    const assets = await makeAssets(nowhere, key);
    assets.service.import(dir);
    const status = await assets.ended();
    expect(states(status)).toMatchObject({ [KERNEL]: 'failed', [INITRD]: 'added' });
    expect(await readFile(join(dir, AT, KERNEL), 'utf8')).toBe('something else');
    expect(await served(assets.assetsDir)).not.toContain(`${FOLDER}/${KERNEL}`);
    expect(await readdir(join(assets.assetsDir, '.content', 'copies'))).toEqual([]);
  });

  it('says so when there is nothing', async () => {
    const assets = await makeAssets(nowhere, key);
    assets.service.import(await tempFolder());
    expect(await assets.ended()).toMatchObject({
      state: 'failed',
      reason: expect.stringContaining('nothing in'),
    });
    assets.service.import('/nonexistent');
    expect(await assets.ended()).toMatchObject({ state: 'failed' });
  });
});
