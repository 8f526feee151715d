import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, readdir, readFile, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { type BackupRecord, writeBackup } from '../../server/backup/format.ts';
import { checkBackup } from '../../server/backup/restore.ts';
import type { RailheadError } from '../../server/errors.ts';
import type { HostSummary } from '../../server/machine/describe-host.ts';
import { SCHEMA_VERSION } from '../../server/store/migrate.ts';
import {
  Appliance,
  type Ended,
  edit,
  launchAppliance,
  makeSite,
  newSite,
  railhead,
  type Site,
  siteEnv,
} from '../support/appliance.ts';
import { cliHere, cliOn } from '../support/cli.ts';
import { until } from '../support/poll.ts';
import { createDatabase } from '../support/postgres.ts';
import { canMount, privateMounts } from '../support/private-mounts.ts';
import { type Stored, stored } from '../support/stored.ts';

const PASSPHRASE = 'correct horse battery staple';
const passphrase = { RAILHEAD_PASSPHRASE: PASSPHRASE };

/** Runs all the time; two backups were taken of it at its start, when it held `expected`. */
let appliance: Appliance;
let original: Site;
let expected: Stored;
let sealed: string;
let plain: string;
/** The data folder of an appliance that was killed: its database still has a log beside it. */
let killed: Site;

beforeAll(async () => {
  original = await makeSite();
  appliance = new Appliance(original, {});
  killed = await makeSite();
  const victim = new Appliance(killed, {});
  await Promise.all([appliance.running(), victim.running()]);
  await edit(killed, (text) => text.replace('name: n3', 'name: mine'));
  await until(
    'the edit is in force',
    async () => (await victim.events()).at(-1)?.kind === 'inventory.activated',
  );
  await victim.kill();
  sealed = join(original.dir, 'sealed.backup');
  plain = join(original.dir, 'plain.backup');
  expect(await backup(original, sealed, passphrase)).toMatchObject({ code: 0, stderr: '' });
  expect(await backup(original, plain)).toMatchObject({ code: 0 });
  expected = await stored(original);
});
afterAll(async () => {
  await appliance.kill();
  await appliance.assertDiscreet();
  for (const { dir } of [original, killed]) await rm(dir, { recursive: true, force: true });
});

const backup = (site: Site, file: string, env = {}): Promise<Ended> =>
  cliHere(['backup', file], { env: { ...siteEnv(site), ...env }, cwd: site.dir });
const restore = (site: Site, file: string, flags: string[] = [], env = {}): Promise<Ended> =>
  cliHere(['restore', file, ...flags], { env: { ...siteEnv(site), ...env }, cwd: site.dir });

function expectRefusal(ended: Ended, code: number, ...messages: (string | RegExp)[]): void {
  expect(ended.code, ended.stderr).toBe(code);
  for (const message of messages) expect(ended.stderr).toMatch(message);
  expect(ended.stderr).not.toMatch(/RH_INTERNAL|\n {4}at /);
}

const keysOf = async (site: Site): Promise<Record<string, string>> => {
  const dir = join(site.data, 'keys');
  const names = (await readdir(dir)).sort();
  return Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(dir, name), 'utf8')] as const)),
  );
};

describe('a backup', () => {
  it('taken while the appliance runs and is edited is whole, and brings everything back', async () => {
    const site = original;
    let editing = true;
    const editor = (async () => {
      for (let n = 0; editing; n++) {
        await edit(site, (text) => text.replace(/name: n3\S*/, `name: n3-${n}`));
        await until(
          'it is in force',
          async () => (await appliance.json<HostSummary[]>('/api/v1/hosts'))[2]?.name === `n3-${n}`,
        );
      }
    })();
    const files = ['a', 'b'].map((name) => join(site.dir, `${name}.backup`));
    for (const file of files) {
      const ended = await railhead(['backup', file], { env: { ...siteEnv(site), ...passphrase } });
      expect(ended, ended.stderr).toMatchObject({ code: 0, stderr: '' });
    }
    editing = false;
    await editor;
    for (const file of files) {
      const target = await newSite();
      expect(await restore(target, file, [], passphrase)).toMatchObject({ code: 0, stderr: '' });
      expectConsistent(await stored(target));
      expect(await keysOf(target)).toEqual(await keysOf(site));
    }
  });

  it('restored into an empty folder gives the same revision, events, token and CA', async () => {
    const target = await newSite();
    const restored = await railhead(['restore', sealed], { env: { ...siteEnv(target), ...passphrase } });
    expect(restored, restored.stderr).toMatchObject({ code: 0, stderr: '' });
    expect(restored.stdout).toMatch(/1 revisions, \d+ events, 1 admin_tokens; keys: .*admin-token/);
    expect(await stored(target)).toEqual(expected);
    expect(await keysOf(target)).toEqual(await keysOf(original));
    for (const name of ['railhead.db', 'keys/admin-token', 'keys/ca.key']) {
      expect((await stat(join(target.data, name))).mode & 0o777, name).toBe(0o600);
    }
    const again = await launchAppliance(target).running();
    expect((await again.readyz()).revision).toBe(expected.revision?.hash);
    expect(again.stdout).not.toContain('admin token was made');
    expect((await cliOn(target)('reload')).code).toBe(0);
    expect((await again.events()).at(-1)).toMatchObject({ kind: 'server.started' });
  });

  it('without a passphrase warns loudly and has no keys, neither in it nor after it', async () => {
    const target = await newSite();
    const warned = await backup(original, join(target.dir, 'again'));
    expect(warned.stderr).toMatch(/^WARNING: .*NO KEYS/);
    const content = gunzipSync((await readFile(plain)).subarray(await headerLength(plain), -32)).toString();
    const { 'admin-token': token, 'ca.key': key } = await keysOf(original);
    for (const secret of [token!.trim(), key!.slice(30, 80)]) expect(content).not.toContain(secret);
    const restored = await restore(target, plain);
    expect(restored.code).toBe(0);
    expect(restored.stderr).toMatch(/^WARNING: there are no keys/);
    const again = await launchAppliance(target).running();
    expect(await again.token()).not.toBe(token?.trim());
    // The new token works, the old one is nobody's any more.
    expect((await cliOn(target)('reload')).code).toBe(0);
    const old = join(original.data, 'keys', 'admin-token');
    expectRefusal(await cliOn(target)('reload', '--token-file', old), 3, 'RH_UNAUTHENTICATED');
  });

  it('with a passphrase shows nothing of what is in it', async () => {
    const bytes = (await readFile(sealed)).toString('latin1');
    const start = await headerLength(sealed);
    expect(bytes.slice(start, start + 3)).not.toBe('\x1f\x8b\x08');
    for (const secret of Object.values(await keysOf(original)))
      expect(bytes).not.toContain(secret.slice(0, 30));
    expect((await stat(sealed)).mode & 0o777).toBe(0o600);
  });

  it('never overwrites a file, and says why it can not be written', async () => {
    const site = await newSite();
    await cp(killed.data, site.data, { recursive: true });
    const there = join(site.dir, 'there');
    await writeFile(there, 'my thesis');
    expectRefusal(await backup(site, there), 2, 'is there already');
    expect(await readFile(there, 'utf8')).toBe('my thesis');
    expectRefusal(await backup(site, join(site.dir, 'no', 'such', 'folder')), 2, 'no such folder');
    expectRefusal(await backup(site, join(there, 'below')), 2, 'no such folder');
    expectRefusal(await backup(site, there, { RAILHEAD_PASSPHRASE: '' }), 2, 'passphrase is empty');
    const empty = join(site.dir, 'empty');
    await writeFile(empty, '\n');
    expectRefusal(await cliOn(site)('backup', 'x', '--passphrase-file', empty), 2, 'passphrase is empty');
    expectRefusal(await cliOn(site)('backup', 'x', '--passphrase-file', 'missing'), 2, 'missing');
    expect((await readdir(site.dir)).sort()).toEqual(['data', 'empty', 'inventory', 'there']);
  });

  it.skipIf(!canMount)('on a full disk is said to have failed, and leaves nothing behind', async () => {
    const site = await newSite();
    await cp(killed.data, site.data, { recursive: true });
    const disk = join(site.dir, 'disk');
    await mkdir(disk);
    const mounts = await privateMounts(`mount -t tmpfs -o size=4k,nr_inodes=5 none ${disk}
      dd if=/dev/zero of=${disk}/filler bs=4k count=1 status=none`);
    const ended = await railhead(['backup', join(disk, 'b')], {
      through: mounts.through,
      env: siteEnv(site),
    });
    expectRefusal(ended, 4, 'RH_DISK_FULL', 'full');
    expect(await readdir(mounts.inside(disk))).toEqual(['filler']);
  });
});

describe('a backup that is not right', () => {
  /** It is refused, in the same words by every way to look at it, and nothing is made. */
  async function expectUnusable(file: string, env = {}, message: string | RegExp = ''): Promise<void> {
    const target = await newSite();
    for (const flags of [[], ['--check']]) {
      expectRefusal(await restore(target, file, flags, env), 1, 'RH_BACKUP_INVALID', message);
    }
    expect(existsSync(join(target.data, 'railhead.db'))).toBe(false);
    expect(await readdir(join(target.data, 'keys')).catch(() => [])).toEqual([]);
  }

  it('is one whose passphrase is wrong or missing', async () => {
    await expectUnusable(
      sealed,
      { RAILHEAD_PASSPHRASE: 'wrong' },
      'the passphrase is wrong, or the file was changed',
    );
    await expectUnusable(sealed, {}, 'no passphrase was given');
  });

  it('is no backup at all', async () => {
    const { dir } = await newSite();
    const file = join(dir, 'x');
    for (const content of [
      '',
      '\n',
      'hello',
      '{}\n',
      'null\n',
      '{"railhead":"backup","format":1}',
      '\0'.repeat(100_000),
    ]) {
      await writeFile(file, content);
      await expectUnusable(file, passphrase);
    }
    await expectUnusable(dir, passphrase);
    await expectUnusable(join(dir, 'missing'), passphrase, 'missing');
  });

  it('is cut short, anywhere', async () => {
    const { dir } = await newSite();
    const file = join(dir, 'cut');
    for (const [whole, env, cuts] of [
      [plain, {}, 40],
      [sealed, passphrase, 6],
    ] as const) {
      const { size } = await stat(whole);
      for (let n = 0; n < cuts; n++) {
        await cp(whole, file);
        await truncate(file, n < 3 ? size - 1 - n : Math.floor((size * n) / cuts));
        await expectInvalid(file, 'RAILHEAD_PASSPHRASE' in env ? PASSPHRASE : undefined);
      }
    }
    await expectUnusable(file, passphrase);
  });

  it('has one bit changed, anywhere', async () => {
    const { dir } = await newSite();
    const file = join(dir, 'flipped');
    for (const [whole, secret] of [
      [plain, undefined],
      [sealed, PASSPHRASE],
    ] as const) {
      const bytes = await readFile(whole);
      const header = await headerLength(whole);
      // Without a passphrase, everywhere in header and seal; with one, each look takes a tenth of a second.
      const step = secret === undefined ? 1 : 11;
      for (let at = 0; at < bytes.length; at += at < header || at > bytes.length - 40 ? step : step * 17) {
        const changed = Buffer.from(bytes);
        changed[at]! ^= 1 << (at % 8);
        await writeFile(file, changed);
        await expectInvalid(file, secret);
      }
    }
    await expectUnusable(file, passphrase);
  });

  /** Quicker than a command, for the many. */
  async function expectInvalid(file: string, secret: string | undefined): Promise<void> {
    const error = await checkBackup(file, secret).then(
      () => undefined,
      (thrown: RailheadError) => thrown,
    );
    expect(error?.code).toMatch(/^RH_(BACKUP_INVALID|STORE_NEWER)$/);
  }

  const row = { id: 1, at: 1, kind: 'server.stopped', host: null, attempt: null, data: '{}' };
  const crafted: [what: string, ...records: unknown[]][] = [
    ['a file outside of the keys folder', { file: '../../evil', base64: 'aGk=' }],
    ['a file at an absolute path', { file: '/tmp/evil', base64: 'aGk=' }],
    ['a file that is the folder itself', { file: '.', base64: 'aGk=' }],
    ['a file that is the folder above', { file: '..', base64: 'aGk=' }],
    ['a file with a zero byte in its name', { file: 'a\0b', base64: 'aGk=' }],
    ['a file without a name', { file: '', base64: 'aGk=' }],
    ['a file whose name is too long', { file: 'x'.repeat(300), base64: 'aGk=' }],
    ['a file whose name is a number', { file: 5, base64: 'aGk=' }],
    ['a file without content', { file: 'evil' }],
    ['a table that does not exist', { table: 'sqlite_master', row: {} }],
    ['a table by a name of every object', { table: 'constructor', row: {} }],
    ['a row that is nothing', { table: 'events', row: null }],
    [
      'a row with a column that does not exist',
      { table: 'events', row: { ...row, 'x"; drop table events; --': 1 } },
    ],
    ['a row without what it needs', { table: 'events', row: { id: 1 } }],
    ['a row with a value that is no value', { table: 'events', row: { ...row, kind: { base65: 'x' } } }],
    ['a row twice', { table: 'events', row }, { table: 'events', row }],
    ['a record that is none', 5],
    ['a record that is null', null],
    ['a record of a kind that does not exist', { secret: 1 }],
    ['an end that is not the end', { end: true, records: 0 }, { table: 'events', row }],
  ];

  it.each(crafted)('was made by somebody with bad intentions: %s', async (_what, ...records) => {
    const target = await newSite();
    const file = join(target.dir, 'crafted');
    await craft(file, records);
    expectRefusal(await restore(target, file), 1, 'RH_BACKUP_INVALID');
    expect(existsSync(join(target.data, 'railhead.db'))).toBe(false);
    expect(await readdir(join(target.data, 'keys')).catch(() => [])).toEqual([]);
    expect((await readdir(target.dir)).filter((name) => name !== 'data').sort()).toEqual([
      'crafted',
      'inventory',
    ]);
    expect(existsSync('/tmp/evil')).toBe(false);
  });

  it.each([0, -1, 1.5, '1', null])('claims to have the schema %j', async (schema) => {
    const target = await newSite();
    const file = join(target.dir, 'crafted');
    await craft(file, [], schema as number);
    expectRefusal(await restore(target, file), 1, 'RH_BACKUP_INVALID');
  });

  it('comes from a newer Railhead', async () => {
    const target = await newSite();
    const file = join(target.dir, 'newer');
    await craft(file, [], SCHEMA_VERSION + 1);
    expectRefusal(await restore(target, file), 4, 'RH_STORE_NEWER', 'newer Railhead (9.9.9)');
  });

  async function craft(file: string, records: unknown[], schema = SCHEMA_VERSION): Promise<void> {
    const header = { version: '9.9.9', schema, createdAt: '2030-01-01T00:00:00Z' };
    const all = async function* (): AsyncGenerator<BackupRecord> {
      for (const record of records) yield record as BackupRecord;
    };
    await writeBackup(file, header, all(), undefined);
  }
});

describe('a folder that is restored into', () => {
  it('must be empty, or the old is kept aside with --replace', async () => {
    const target = await newSite();
    await cp(killed.data, target.data, { recursive: true });
    const { 'admin-token': token } = await keysOf(target);
    const before = await digest(target.data);
    expectRefusal(await restore(target, sealed, [], passphrase), 4, 'RH_STORE_NOT_EMPTY', '--replace');
    expect(await digest(target.data)).toEqual(before);

    expect(await restore(target, sealed, ['--replace'], passphrase)).toMatchObject({ code: 0 });
    expect(await stored(target)).toEqual(expected);
    expect(await keysOf(target)).toEqual(await keysOf(original));
    const names = await readdir(target.data);
    const keys = names.find((name) => name.startsWith('keys.replaced-'))!;
    expect(await readFile(join(target.data, keys, 'admin-token'), 'utf8')).toBe(token);
    const database = names.find((name) => /^railhead\.db\.replaced-.*Z$/.test(name))!;
    const aside = await newSite();
    await mkdir(aside.data);
    await cp(join(target.data, database), join(aside.data, 'railhead.db'));
    expect((await stored(aside)).revision?.inventory.hosts.map(({ name }) => name)).toContain('mine');
  });

  it('may have a damaged database, which is kept, too', async () => {
    const target = await newSite();
    await mkdir(target.data);
    await writeFile(join(target.data, 'railhead.db'), 'these are my holiday pictures\n'.repeat(500));
    expect(await restore(target, sealed, ['--replace'], passphrase)).toMatchObject({ code: 0 });
    expect(await stored(target)).toEqual(expected);
    const kept = (await readdir(target.data)).find((name) => name.startsWith('railhead.db.replaced-'))!;
    expect(await readFile(join(target.data, kept), 'utf8')).toMatch(/^these are my/);
  });

  it('may have the log of a database that somebody deleted: it is not taken for the new one’s', async () => {
    const target = await newSite();
    await cp(killed.data, target.data, { recursive: true });
    await rm(join(target.data, 'railhead.db'));
    expect(await readdir(target.data)).toContain('railhead.db-wal');
    expect(await restore(target, sealed, [], passphrase)).toMatchObject({ code: 0 });
    expect(await stored(target)).toEqual(expected);
  });

  it('must not be in use', async () => {
    const before = await appliance.readyz();
    const refused = await restore(appliance.site, sealed, ['--replace'], passphrase);
    expectRefusal(refused, 4, 'RH_DATA_IN_USE', `process ${appliance.pid}`);
    expect(await appliance.readyz()).toEqual(before);
    expect(await restore(appliance.site, sealed, ['--check'], passphrase)).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('is whole'),
    });
  });

  it.skipIf(!canMount)('must have room for it: otherwise all is as it was', async () => {
    const target = await newSite();
    await mkdir(target.data);
    const mounts = await privateMounts(`mount -t tmpfs -o size=100k none ${target.data}`);
    const run = { through: mounts.through, env: { ...siteEnv(target), ...passphrase } };
    expectRefusal(await railhead(['restore', sealed], run), 4, 'RH_DISK_FULL');
    expect(await readdir(mounts.inside(target.data))).not.toContain('railhead.db');
    expect(await readdir(join(mounts.inside(target.data), 'keys'))).toEqual([]);
  });
});

const postgresUrl = inject('postgresUrl');

describe.skipIf(postgresUrl === undefined)('on PostgreSQL', () => {
  it('takes a backup made on SQLite, gives one of its own, and goes on counting where it was', async () => {
    const target = await newSite();
    const env = { DATABASE_URL: await createDatabase(postgresUrl!), ...passphrase };
    expect(await restore(target, sealed, [], env)).toMatchObject({ code: 0, stderr: '' });
    const before = await stored(target, env.DATABASE_URL);
    expect(before).toEqual(expected);
    expectRefusal(await restore(target, sealed, [], env), 4, 'RH_STORE_NOT_EMPTY');

    const again = await launchAppliance(target, { env }).running();
    expect((await again.readyz()).revision).toBe(before.revision?.hash);
    await edit(target, (text) => text.replace('name: n3', 'name: n4'));
    expect(await cliHere(['reload'], { env: siteEnv(target) })).toMatchObject({ code: 0 });
    const stranger = await newSite();
    expectRefusal(await restore(stranger, sealed, ['--replace'], env), 4, 'RH_DATA_IN_USE', 'the database');
    const file = join(target.dir, 'from-postgres');
    expect(await backup(target, file, env)).toMatchObject({ code: 0, stderr: '' });
    await again.stop();
    const after = await stored(target, env.DATABASE_URL);
    expectConsistent(after);

    // Into another PostgreSQL database that is not empty, and back to SQLite.
    const other = { ...env, DATABASE_URL: await createDatabase(postgresUrl!) };
    const elsewhere = await newSite();
    expect(await restore(elsewhere, sealed, [], other)).toMatchObject({ code: 0 });
    expect(await restore(elsewhere, file, ['--replace'], other)).toMatchObject({ code: 0 });
    const back = await newSite();
    expect(await restore(back, file, [], passphrase)).toMatchObject({ code: 0 });
    const backedUp = { ...after, events: after.events.slice(0, -1) }; // all but its own stop
    expect(await stored(elsewhere, other.DATABASE_URL)).toEqual(backedUp);
    expect(await stored(back)).toEqual(backedUp);
    expect(await keysOf(back)).toEqual(await keysOf(original));
  });
});

function expectConsistent({ events, revision }: Stored): void {
  expect(events.map(({ id }) => id)).toEqual(events.map((_, index) => index + 1));
  const activated = events.filter((event) => event.kind === 'inventory.activated');
  expect(revision?.hash).toBe(activated.at(-1)?.data.revision);
  expect(revision?.inventory.hosts).toHaveLength(3);
}

async function headerLength(file: string): Promise<number> {
  return (await readFile(file)).indexOf('\n') + 1;
}

/** Of every file below, except what a killed server left to say where it is. */
async function digest(dir: string): Promise<Record<string, string>> {
  const names = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = names
    .filter((entry) => entry.isFile() && entry.name !== 'server.json')
    .map((entry) => join(entry.parentPath, entry.name));
  return Object.fromEntries(
    await Promise.all(
      files.sort().map(
        async (file) =>
          [
            file,
            createHash('sha1')
              .update(await readFile(file))
              .digest('hex'),
          ] as const,
      ),
    ),
  );
}
