import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { sql } from 'kysely';
import { describe, expect, it, onTestFinished } from 'vitest';
import { DataFolder } from '../../server/data-folder.ts';
import { openStore } from '../../server/store/store.ts';
import {
  type Ended,
  launchAppliance,
  newSite,
  type RunOptions,
  railhead,
  type Site,
  siteEnv,
  startAppliance,
} from '../support/appliance.ts';
import { cliHere } from '../support/cli.ts';
import { until } from '../support/poll.ts';
import { asNobody, canMount, privateMounts } from '../support/private-mounts.ts';

/** `up` on this site, to its end. */
const up = (site: Site, flags: string[] = [], options: RunOptions = {}): Promise<Ended> =>
  railhead(['up', ...flags], { cwd: site.dir, ...options, env: { ...siteEnv(site), ...options.env } });

/** The same in this process: for variants of what a real process is tried with as well. */
const upHere = (site: Site, flags: string[] = [], env: Record<string, string> = {}): Promise<Ended> =>
  cliHere(['up', ...flags], {
    cwd: site.dir,
    env: { ...siteEnv(site), RAILHEAD_LOG_LEVEL: 'silent', ...env },
  });

/** One message for a person, and the documented exit code. */
function expectRefusal(ended: Ended, code: number, ...messages: (string | RegExp)[]): void {
  expect(ended, ended.stderr).toMatchObject({ code, signal: null });
  for (const message of messages) expect(ended.stderr).toMatch(message);
  expect(ended.stderr).not.toMatch(/RH_INTERNAL|\n {4}at |node:internal/);
  expect(ended.stdout).not.toContain('is running');
}

describe('a data folder in use', () => {
  it('is refused to a second process, which names the first; the first goes on', async () => {
    const first = await startAppliance();
    const before = await readFile(first.dataPath('server.json'), 'utf8');
    expectRefusal(
      await up(first.site),
      4,
      'RH_DATA_IN_USE',
      `process ${first.pid}, ${first.url}`,
      '--data DIR',
    );
    expect(await readFile(first.dataPath('server.json'), 'utf8')).toBe(before);
    expect((await first.readyz()).status).toBe(200);
    await first.stop();
  });
});

describe('a data folder that was in use', () => {
  it('is said to be nobody’s as soon as the next one starts on it, not only when that serves', async () => {
    const site = await newSite();
    const folder = new DataFolder(site.data);
    await folder.prepare();
    await writeFile(join(site.data, 'server.json'), '{"pid":1,"url":"http://127.0.0.1:1"}');
    await folder.lock();
    onTestFinished(() => folder.unlock());
    expect(await folder.running()).toBeUndefined();
    expectRefusal(await up(site), 4, 'RH_DATA_IN_USE: Another Railhead is using');
  });
});

describe('a port in use', () => {
  it.each(['http', 'https'])('is said once, with what to do: %s', async (name) => {
    const site = await newSite();
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const ended = await up(site, [`--${name}-port`, String(port)]);
    expectRefusal(ended, 4, 'RH_PORT_UNUSABLE', `TCP port ${port}`, `--${name}-port`);
    expect(ended.stderr.match(/RH_/g)).toHaveLength(1);
    expect(await readdir(site.data)).not.toContain('server.json');
  });

  it('is said once, with what to do: tftp', async () => {
    const site = await newSite();
    const socket = createSocket('udp4').bind(0, '127.0.0.1');
    onTestFinished(() => void socket.close());
    await once(socket, 'listening');
    const { port } = socket.address();
    const ended = await up(site, ['--tftp-port', String(port)]);
    expectRefusal(ended, 4, 'RH_PORT_UNUSABLE', `UDP port ${port} (TFTP)`, '--tftp-port');
    // Nothing is left behind that would keep the next start from the folder.
    const folder = new DataFolder(site.data);
    await folder.lock();
    folder.unlock();
    expect(await readdir(site.data)).not.toContain('server.json');
  });
});

describe('a data folder that can not be used', () => {
  it('is a file, or below one', async () => {
    const site = await newSite();
    await writeFile(site.data, 'a letter');
    expectRefusal(await up(site), 4, 'RH_DATA_UNUSABLE', 'a file is in the way', '--data DIR');
    const below = await upHere(site, ['--data', join(site.data, 'below')]);
    expectRefusal(below, 4, 'RH_DATA_UNUSABLE', 'a file is in the way');
    expect(await readFile(site.data, 'utf8')).toBe('a letter');
  });

  it('has something else where the lock belongs', async () => {
    const site = await newSite();
    await mkdir(join(site.data, 'lock'), { recursive: true });
    expectRefusal(await upHere(site), 4, 'RH_DATA_UNUSABLE', 'lock');
    const other = await newSite();
    await mkdir(other.data);
    await writeFile(join(other.data, 'lock'), 'this is somebody else’s file, not ours at all\n'.repeat(100));
    expectRefusal(await upHere(other), 4, 'RH_DATA_UNUSABLE', 'lock');
    expect(await readFile(join(other.data, 'lock'), 'utf8')).toMatch(/^this is somebody/);
  });

  it.skipIf(!canMount)('is on a read-only disk', async () => {
    const site = await newSite();
    await mkdir(site.data);
    const { through } = await privateMounts(`mount --bind ${site.data} ${site.data}
      mount -o remount,bind,ro ${site.data}`);
    expectRefusal(await up(site, [], { through }), 4, 'RH_DATA_UNUSABLE', 'the file system is read-only');
    const below = await up(site, ['--data', join(site.data, 'new', 'folder')], { through });
    expectRefusal(below, 4, 'RH_DATA_UNUSABLE', 'the file system is read-only');
    expect(await readdir(site.data)).toEqual([]);
  });

  it.skipIf(!canMount)('is on a disk that is full, or has just enough room to begin', async () => {
    const site = await newSite();
    await mkdir(site.data);
    const full = await privateMounts(`mount -t tmpfs -o size=64k,nr_inodes=1000 none ${site.data}
      dd if=/dev/zero of=${site.data}/filler bs=4k count=16 status=none`);
    const small = await privateMounts(`mount -t tmpfs -o size=100k none ${site.data}`);
    for (const { through } of [full, small]) {
      expectRefusal(await up(site, [], { through }), 4, /RH_DISK_FULL|RH_DATA_UNUSABLE/, 'full');
    }
  });

  it.skipIf(!canMount)('belongs to somebody else', async () => {
    const site = await newSite();
    await chmod(site.dir, 0o755);
    await mkdir(site.data, { mode: 0o700 });
    const ended = await up(site, [], await asNobody());
    expectRefusal(ended, 4, 'RH_DATA_UNUSABLE', 'no right to write there', '--data DIR');
  });
});

describe('a database that can not be used', () => {
  it('is no database: it is left as it is', async () => {
    const site = await newSite();
    await mkdir(site.data);
    await writeFile(join(site.data, 'railhead.db'), 'these are my holiday pictures\n'.repeat(500));
    const before = await readFile(join(site.data, 'railhead.db'));
    expectRefusal(await up(site), 4, 'RH_STORE_CORRUPT', 'left as it is', 'railhead restore');
    expect(await readFile(join(site.data, 'railhead.db'))).toEqual(before);
  });

  it('comes from a newer Railhead: it is left as it is', async () => {
    const site = await newSite();
    await mkdir(site.data);
    const store = await openStore({ dataDir: site.data });
    await sql`insert into kysely_migration values ('9999-from-the-future', '2030-01-01')`.execute(store.db);
    await store.close();
    const before = await readFile(join(site.data, 'railhead.db'));
    expectRefusal(await upHere(site), 4, 'RH_STORE_NEWER', '9999-from-the-future', 'newer version');
    expect(await readFile(join(site.data, 'railhead.db'))).toEqual(before);
  });

  it('is not there: a PostgreSQL that nobody runs, whose password is not shown', async () => {
    const site = await newSite();
    const env = { DATABASE_URL: 'postgres://me:hunter2@127.0.0.1:1/railhead' };
    const ended = await upHere(site, [], env);
    expectRefusal(ended, 4, 'RH_STORE_UNREACHABLE', '127.0.0.1:1', 'DATABASE_URL');
    expect(ended.stderr).not.toContain('hunter2');
  });
});

describe('a wrong setting', () => {
  it('is said with where it came from and what was expected, all of them at once', async () => {
    const site = await newSite();
    const ended = await up(site, ['--http-port', '99999', '--watch', 'maybe', '--log-level', 'loud'], {
      env: { RAILHEAD_HTTPS_PORT: 'many', RAILHEAD_HTP_PORT: '80', DATABASE_URL: 'mysql://x' },
    });
    expectRefusal(
      ended,
      2,
      '--http-port: expected a port number from 0 to 65535',
      '--watch: expected true or false, got "maybe"',
      '--log-level: expected trace',
      'RAILHEAD_HTTPS_PORT: expected a port number',
      /RAILHEAD_HTP_PORT: .*RAILHEAD_HTTP_PORT/,
      'DATABASE_URL: expected a URL',
    );
    expect(await readdir(site.dir)).toEqual(['inventory']);
  });

  it('is found in the settings file, with its place', async () => {
    const site = await newSite();
    const file = join(site.dir, 'my.yaml');
    await writeFile(file, 'httpsPort: 1\nhtttpPort: 8080\n');
    const ended = await upHere(site, ['--config', file]);
    expectRefusal(ended, 2, /my\.yaml:2:1: .*htttpPort.*httpPort/s);
    await writeFile(file, 'httpPort: [\n');
    expectRefusal(await upHere(site, ['--config', file]), 2, /my\.yaml:2:1: .*not valid YAML/);
  });

  it('is a settings file that is not there, or can not be read', async () => {
    const site = await newSite();
    const missing = join(site.dir, 'missing.yaml');
    expectRefusal(await upHere(site, ['--config', missing]), 2, 'RH_SETTINGS_INVALID', missing);
    expectRefusal(await upHere(site, ['--config', site.dir]), 2, 'RH_SETTINGS_INVALID', site.dir);
  });

  it('is an address that is none, or is not ours', async () => {
    const site = await newSite();
    expectRefusal(await upHere(site, ['--bind', '999.1.1.1']), 2, '999.1.1.1', '--bind');
    expectRefusal(await upHere(site, ['--bind', '192.0.2.77']), 4, 'no address 192.0.2.77', '--bind');
    expectRefusal(await upHere(site, ['--bind', 'fe80::1']), 4, 'no address fe80::1', '--bind');
  });

  it('is a flag that does not exist', async () => {
    expectRefusal(await cliHere(['up', '--htp-port', '1']), 2, "unknown option '--htp-port'", '--http-port');
  });
});

describe('the TFTP port without the right to it', () => {
  it.skipIf(!canMount)('is replaced by 6969, and said with the command that grants it', async () => {
    const site = await newSite();
    await chmod(site.dir, 0o777);
    await chmod(site.inventory, 0o700);
    const env = { RAILHEAD_TFTP_PORT: '69', RAILHEAD_BIND: '0.0.0.0' };
    const appliance = launchAppliance(site, { ...(await asNobody()), env });
    await until('the banner is out', () => appliance.hasEnded || appliance.stdout.includes('Stop with'));
    expect(appliance.output).toContain('TFTP          UDP port 6969');
    expect(appliance.stdout).toMatch(
      /! No right to UDP port 69; .*setcap cap_net_bind_service=\+ep \S+\/node/,
    );
    // TFTP on another port is no reason not to be ready.
    expect(appliance.stdout).not.toContain('is not listening');
    // Nor may it read the inventory: it says so, and waits for that to change.
    expect(appliance.stdout).toMatch(/! The inventory on disk was refused; .*no right to read it/);
    await appliance.stop();
  });
});
