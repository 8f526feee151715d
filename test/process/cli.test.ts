import { chmod, cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { Event } from '../../server/events/kinds.ts';
import {
  type Ended,
  edit,
  launchAppliance,
  NODE,
  newSite,
  RAILHEAD,
  ROOT,
  railhead,
  sharedAppliance,
  siteEnv,
  startRailhead,
} from '../support/appliance.ts';
import { cliHere, cliOn } from '../support/cli.ts';
import { until } from '../support/poll.ts';
import { asNobody, canMount } from '../support/private-mounts.ts';
import { tempFolder } from '../support/temp.ts';

const COMMANDS = 'up check diff schema hosts host events reload doctor backup restore version'.split(' ');

const appliance = sharedAppliance();
/** On the shared appliance. */
const cli = (...args: string[]): Promise<Ended> => cliOn(appliance().site)(...args);

function expectClear(ended: Ended, code: number, ...messages: (string | RegExp)[]): void {
  expect(ended.code, ended.stderr).toBe(code);
  for (const message of messages) expect(ended.stderr).toMatch(message);
  expect(ended.stderr).not.toMatch(/RH_INTERNAL|\n {4}at /);
}

describe('help', () => {
  it('lists every command and what the exit codes mean', async () => {
    const { code, stdout } = await railhead(['--help']);
    expect(code).toBe(0);
    for (const command of COMMANDS) expect(stdout).toMatch(new RegExp(`^  ${command}\\b`, 'm'));
    for (const exit of ['0 ', '1 ', '2 ', '3 ', '4 ', '70'])
      expect(stdout).toMatch(new RegExp(`^ +${exit} `, 'm'));
  });

  it.each(COMMANDS)('of %s says what it does and has --json, if it prints anything', async (command) => {
    const { code, stdout, stderr } = await cliHere([command, '--help']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain(`Usage: railhead ${command}`);
    if (command !== 'up') expect(stdout).toContain('--json');
  });

  it('of up lists every setting with its variable', async () => {
    const { stdout } = await cliHere(['up', '--help']);
    for (const name of ['RAILHEAD_DATA', 'RAILHEAD_TFTP_PORT', 'RAILHEAD_ADVERTISE', 'DATABASE_URL']) {
      expect(stdout).toContain(name);
    }
  });
});

describe('a wrong command line', () => {
  it.each<[string[], ...string[]]>([
    [['hots'], "unknown command 'hots'", 'hosts'],
    [['hosts', '--jsn'], "unknown option '--jsn'", '--json'],
    [['host'], "missing required argument 'HOST'"],
    [['check', 'a', 'b'], 'too many arguments'],
    [['events', '--limit', '0'], '--limit'],
    [['events', '--limit', 'ten'], '--limit'],
    [['hosts', '--server', 'example'], '--server: expected a URL'],
  ])('is refused with exit code 2: %j', async (args, ...messages) => {
    expectClear(await cliHere(args), 2, ...messages);
  });

  it('ends a real process with exit code 2, too', async () => {
    expectClear(await railhead(['hots']), 2, /Did you mean .*hosts/);
  });
});

describe('--json', () => {
  it.each([['hosts'], ['events'], ['doctor'], ['diff']])(
    'gives an array of objects with a name: %s',
    async (command) => {
      if (command === 'diff') {
        const edited = await tempFolder();
        const text = await readFile(join(ROOT, 'inventory', 'example.yaml'), 'utf8');
        await writeFile(join(edited, 'x.yaml'), text.replaceAll('n2', 'n2-new'));
        const list = JSON.parse((await cli('diff', edited, '--json')).stdout);
        expect(list).toMatchObject([
          { kind: 'host', name: 'n2-new', change: 'added' },
          { kind: 'host', name: 'n2', change: 'removed' },
        ]);
        return;
      }
      const { code, stdout, stderr } = await cli(command!, '--json');
      expect([0, 1]).toContain(code);
      expect(stderr).toBe('');
      const list = JSON.parse(stdout) as { name: unknown }[];
      expect(list.length).toBeGreaterThan(2);
      for (const item of list) expect(item.name).toEqual(expect.any(String));
    },
  );

  it('gives one object for one thing', async () => {
    expect(JSON.parse((await cli('host', 'n1', '--json')).stdout)).toMatchObject({
      name: 'n1',
      state: 'assigned',
    });
    expect(JSON.parse((await cli('version', '--json')).stdout)).toMatchObject({
      version: expect.any(String),
    });
    expect(JSON.parse((await cli('schema', '--json')).stdout)).toHaveProperty('$schema');
    expect(JSON.parse((await cli('check', '--json')).stdout)).toMatchObject({ ok: true, problems: [] });
    expect(JSON.parse((await cli('reload', '--json')).stdout)).toMatchObject({ hosts: 3, rejection: null });
  });
});

describe('hosts', () => {
  it('are a table for people, from the server and from a folder alike', async () => {
    const asked = await cli('hosts');
    expect(asked.stdout).toMatch(/^NAME +STATE +CLUSTER .*\nn1 +assigned +lab +control +control-plane/);
    const read = await cliHere(['hosts', '--inventory', join(ROOT, 'inventory')]);
    expect(read.stdout).toBe(asked.stdout);
  });

  it('are found by name, by any spelling of a MAC, and not by nonsense', async () => {
    for (const wanted of ['n2', '52-54-00-12-34-02', '5254.0012.3402', '52:54:00:12:34:02']) {
      expect((await cli('host', wanted)).stdout).toMatch(/^name +n2$/m);
    }
    expectClear(await cli('host', 'n22'), 1, 'RH_HOST_UNKNOWN', 'n2');
    expectClear(await cli('host', '../../etc/passwd'), 1, 'RH_HOST_UNKNOWN');
    expectClear(await cli('host', '%00%ff/?#'), 1, 'RH_HOST_UNKNOWN');
    expectClear(await cli('host', 'x'.repeat(5000)), 2, 'RH_REQUEST_INVALID');
  });

  it('can be cut off by a reader that has seen enough', async () => {
    const many = await tempFolder();
    const example = await readFile(join(ROOT, 'inventory', 'example.yaml'), 'utf8');
    const hosts = Array.from({ length: 3000 }, (_, n) => {
      const mac = (n + 4096).toString(16).padStart(4, '0');
      return `  - { name: h${n}, pool: workers, macs: ['52:54:00:13:${mac.slice(0, 2)}:${mac.slice(2)}'] }`;
    });
    await writeFile(join(many, 'many.yaml'), `${example.trimEnd()}\n${hosts.join('\n')}\n`);
    const pipe = `{ "$0" "$1" hosts --inventory "$2"; echo "exit $?" >&2; } | head -1`;
    const ended = await railhead([NODE, RAILHEAD, many], { command: ['sh', '-c', pipe] });
    expect(ended.stdout).toMatch(/^NAME +STATE[^\n]*\n$/);
    expect(ended.stderr).toBe('exit 0\n');
  });
});

describe('without a server', () => {
  it.each([['hosts'], ['host', 'n1'], ['events'], ['events', '--follow'], ['reload']])(
    'says so with exit code 3: %s %s',
    async (...args) => {
      const site = await newSite();
      const ended = await cliOn(site)(...args.filter((arg) => arg !== undefined));
      expectClear(ended, 3, 'RH_SERVER_NOT_RUNNING', site.data, 'npm start', '--server URL');
      expect(ended.stdout).toBe('');
    },
  );

  it('ends a real process with exit code 3, too, and makes no data folder', async () => {
    const site = await newSite();
    expectClear(await railhead(['hosts'], { env: siteEnv(site) }), 3, 'RH_SERVER_NOT_RUNNING');
    await expect(readFile(site.data)).rejects.toMatchObject({ code: 'ENOENT' });
  });

  it('still compares with what was in force when it last ran', async () => {
    const site = await newSite();
    const { revision } = await appliance().readyz();
    await cp(appliance().site.data, site.data, { recursive: true });
    await rm(join(site.data, 'server.json'));
    await edit(site, (text) => text.replace('4593.2.5', '4593.2.6'));
    const { code, stdout } = await cliOn(site)('diff');
    expect(code).toBe(0);
    expect(stdout).toMatch(new RegExp(`^${revision} -> inventory\n`));
    expect(stdout).toMatch(/~ host n1\n +os\.version: 4593\.2\.5 -> 4593\.2\.6\n/);
    expect(stdout).toContain('Hosts: 0 added, 3 changed, 0 removed.');
    expectClear(await cliOn(site)('diff', '--against', 'feed'), 1, 'RH_REVISION_UNKNOWN');
    expectClear(await cliOn(site)('diff', '--against', 'nonsense'), 1, 'RH_REVISION_UNKNOWN');
    const elsewhere = ['diff', '--server', 'http://127.0.0.1:1'];
    expectClear(await cliOn(site)(...elsewhere), 3, 'RH_SERVER_NOT_RUNNING');
    const env = { ...siteEnv(site), RAILHEAD_SERVER: 'http://127.0.0.1:1' };
    expectClear(await cliHere(['diff'], { env, cwd: site.dir }), 3, 'RH_SERVER_NOT_RUNNING');
  });

  it('has nothing to compare with before the first start, and says so', async () => {
    const site = await newSite();
    expectClear(await cliOn(site)('diff'), 4, 'RH_DATA_UNUSABLE', 'no database');
    expectClear(await cliOn(site)('backup', join(site.dir, 'b')), 4, 'RH_DATA_UNUSABLE', 'no database');
  });
});

describe('--server', () => {
  it('reaches it by HTTP and, with the CA certificate, by HTTPS', async () => {
    const { site, url, httpsUrl } = appliance();
    const elsewhere = { cwd: await tempFolder(), env: { RAILHEAD_DATA: join(await tempFolder(), 'none') } };
    const ca = join(site.data, 'keys', 'ca.pem');
    const token = join(site.data, 'keys', 'admin-token');
    for (const server of [
      ['--server', url],
      ['--server', httpsUrl, '--ca', ca],
    ]) {
      expect((await cliHere(['hosts', ...server], elsewhere)).stdout).toContain('n1');
      expectClear(await cliHere(['reload', ...server], elsewhere), 3, 'RH_UNAUTHENTICATED', '--token-file');
      expectClear(await cliHere(['reload', ...server, '--token-file', token], elsewhere), 0);
    }
    const env = { ...elsewhere.env, RAILHEAD_SERVER: url };
    expect((await cliHere(['hosts'], { ...elsewhere, env })).stdout).toContain('n1');
    expectClear(await cliHere(['hosts', '--server', httpsUrl], elsewhere), 3, 'not trusted', '--ca FILE');
  });

  it('is told what is wrong with a token, a CA or an address', async () => {
    const { url, httpsUrl, server } = appliance();
    const folder = await tempFolder();
    const wrong = join(folder, 'wrong');
    await writeFile(wrong, 'rh_wrong\n');
    expectClear(await cli('reload', '--token-file', wrong), 3, 'RH_UNAUTHENTICATED', 'not right');
    await writeFile(wrong, 'rh_wrong\nand more\u0007\n');
    expectClear(await cli('reload', '--token-file', wrong), 3, 'RH_UNAUTHENTICATED');
    expectClear(await cli('reload', '--token-file', join(folder, 'missing')), 2, 'missing');
    expectClear(await cli('reload', '--token-file', folder), 2, 'token');
    expectClear(await cli('hosts', '--server', httpsUrl, '--ca', join(folder, 'missing')), 2, 'missing');
    expectClear(await cli('hosts', '--server', httpsUrl, '--ca', folder), 2, folder);
    expectClear(await cli('hosts', '--server', httpsUrl, '--ca', wrong), 2, wrong);
    expectClear(await cli('hosts', '--server', httpsUrl.replace('https', 'http')), 3);
    expectClear(await cli('hosts', '--server', url.replace('http', 'https')), 3);
    expectClear(
      await cli('hosts', '--server', `http://no-such-host.invalid:${server.httpPort}`),
      3,
      'No Railhead',
    );
  });

  it('is not fooled by something that is no Railhead', async () => {
    const answers: [number, string][] = [
      [200, '<html>hello</html>'],
      [404, '{"error":"Not Found","statusCode":404}'],
      [500, '{"error":{"code":"RH_FROM_THE_FUTURE","message":"too new"}}'],
      [500, '{"error":null}'],
      [200, 'null'],
      [200, '{"hosts":[]}'],
      [200, '[1,2]'],
      [200, ''],
      [302, ''],
    ];
    for (const [status, body] of answers) {
      const url = await httpServer((_request, response) => response.writeHead(status).end(body));
      expectClear(await cliHere(['hosts', '--server', url]), 3);
      expectClear(await cliHere(['events', '--server', url]), 3);
      expectClear(await cliHere(['host', 'n1', '--server', url]), 3);
    }
    for (const bytes of ['SSH-2.0-OpenSSH_9.2\r\n', 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n[']) {
      const url = await rawServer((socket) => socket.end(bytes));
      expectClear(await cliHere(['hosts', '--server', url]), 3);
    }
  });
});

describe('reload', () => {
  it('puts an edit in force, or says what is wrong with it', async () => {
    const { site } = appliance();
    const path = join(site.inventory, 'example.yaml');
    const before = await readFile(path, 'utf8');
    onTestFinished(async () => {
      await writeFile(path, before);
      expect((await cli('reload')).code).toBe(0);
    });
    await edit(site, (text) => text.replace('name: n3', 'name: n4'));
    expect(await cli('reload')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^in force: .*3 hosts/),
    });
    const { revision } = await appliance().readyz();
    await edit(site, (text) => text.replace('pool: control', 'pool: contrl'));
    const refused = await cli('reload');
    expect(refused.code).toBe(1);
    expect(refused.stdout).toMatch(/example\.yaml:\d+:\d+: .*contrl[\s\S]*refused; still in force/);
    expect(refused.stdout).toContain(String(revision));
  });
});

describe('events --follow', () => {
  it('shows what happens as it happens, also after the server has been restarted on another port', async () => {
    const site = await newSite();
    const first = await launchAppliance(site).running();
    const following = startRailhead(['events', '--follow', '--json'], { cwd: site.dir, env: siteEnv(site) });
    const seen = (): Event[] =>
      following.stdout
        .split('\n')
        .slice(0, -1)
        .map((line) => JSON.parse(line));
    await until('it shows what has been', () => seen().some(({ kind }) => kind === 'server.started'));
    await edit(site, (text) => text.replace('name: n3', 'name: n4'));
    await until(
      'it shows what happens',
      () => seen().filter(({ kind }) => kind === 'inventory.activated')[1],
    );
    await first.stop();
    const second = await launchAppliance(site).running();
    await edit(site, (text) => text.replace('name: n4', 'name: n5'));
    await until('it goes on', () => seen().filter(({ kind }) => kind === 'inventory.activated')[2]);
    const all = await second.events();
    expect(seen()).toEqual(all.map((event) => ({ name: String(event.id), ...event })));
    expect(following.stderr).toContain('trying again');
    following.signal('SIGINT');
    expect(await following.ended).toMatchObject({ code: 0 });
  });
});

describe('somebody without rights', () => {
  it.skipIf(!canMount)('is told so by every command', async () => {
    const site = await newSite();
    await chmod(site.dir, 0o755);
    await mkdir(join(site.data, 'keys'), { recursive: true });
    await chmod(site.data, 0o700);
    await chmod(site.inventory, 0o700);
    const nobody = await asNobody();
    const run = (...args: string[]) => railhead(args, { ...nobody, cwd: site.dir, env: siteEnv(site) });
    const [hosts, check, doctor] = await Promise.all([run('hosts'), run('check'), run('doctor')]);
    expectClear(hosts!, 3, 'no right to read');
    expectClear(check!, 4, 'RH_INVENTORY_UNREADABLE', 'no right to read it');
    expectClear(doctor!, 1);
    expect(doctor!.stdout).toMatch(/FAIL +data folder .*no right/);
    expect(doctor!.stdout).toMatch(/FAIL +inventory .*no right/);
  });
});

async function listening(server: Server): Promise<string> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function httpServer(listener: RequestListener): Promise<string> {
  const server = createHttpServer(listener);
  onTestFinished(() => server.closeAllConnections());
  return listening(server);
}

function rawServer(listener: (socket: Socket) => void): Promise<string> {
  return listening(
    createServer((socket) => {
      socket.on('error', () => {});
      listener(socket);
    }),
  );
}
