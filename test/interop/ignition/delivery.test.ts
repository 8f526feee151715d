import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import Database from 'better-sqlite3';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ensureAuthority } from '../../../server/access/certificate.ts';
import { idOf } from '../../../server/machine/attempts.ts';
import { type Appliance, ask, edit, newSite, startAppliance } from '../../support/appliance.ts';
import { bootMachine, giveImage } from '../../support/booting.ts';
import { until } from '../../support/poll.ts';
import { tempFolder } from '../../support/temp.ts';
import { IgnitionMachine, ignitionTools, isValid } from './run-ignition.ts';

const MAC = '52:54:00:12:34:01';
const tools = await ignitionTools();

interface Pointer {
  ignition: {
    config: {
      replace: {
        source: string;
        httpHeaders: { name: string; value: string }[];
        verification?: { hash: string };
      };
    };
    security: { tls: { certificateAuthorities: { source: string }[] } };
  };
}

interface BootingOptions {
  /** Of the example. */
  change?: (text: string) => string;
  /** Whether it has a templates folder of its own. */
  templates?: boolean;
}

/** An appliance with the example, whose n1 has fetched its kernel. */
async function booting({ change = (text) => text, templates = false }: BootingOptions = {}) {
  const site = await newSite();
  await giveImage(site);
  await edit(site, change);
  const folder = join(site.dir, 'templates');
  await mkdir(join(folder, 'snippets'), { recursive: true });
  const { data, inventory } = site;
  const env = templates ? { RAILHEAD_TEMPLATES: folder } : {};
  const appliance = await startAppliance({ data, inventory, env });
  const token = await bootMachine(appliance, MAC);
  return { appliance, token, url: `${appliance.url}/boot/${token}/pointer.ign` };
}

function withSnippet(text: string): string {
  return text.replace('name: n1', 'name: n1\n    snippets: [late.bu]');
}

/** Somebody in between, who changes the one part that is not protected. */
async function tampered(url: string, change: (pointer: Pointer) => void): Promise<string> {
  const pointer = (await (await fetch(url)).json()) as Pointer;
  change(pointer);
  const server = createServer((_request, response) => response.end(JSON.stringify(pointer)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/pointer.ign`;
}

async function machineAt(url: string): Promise<IgnitionMachine> {
  const machine = new IgnitionMachine(tools!, await tempFolder(), { url });
  onTestFinished(() => machine.stop());
  return machine;
}

const kindOf = async (appliance: Appliance, kind: string) =>
  (await appliance.events()).filter((event) => event.kind === kind);

/** On the same ports, so that URLs from before lead to it. */
function startedAgain({ site, server }: Appliance): Promise<Appliance> {
  const { data, inventory } = site;
  const { httpPort, httpsPort } = server;
  return startAppliance({
    data,
    inventory,
    env: { RAILHEAD_HTTP_PORT: String(httpPort), RAILHEAD_HTTPS_PORT: String(httpsPort) },
  });
}

describe.skipIf(tools === undefined)('the real Ignition at a real appliance', () => {
  it('follows the pointer over TLS, with our CA, token and hash, and writes the files', async () => {
    const { appliance, token, url } = await booting();
    const machine = await machineAt(url);
    for (const stage of ['fetch', 'files'] as const) {
      const { code, output } = await machine.run(stage);
      expect(code, output).toBe(0);
    }
    const tree = machine.tree();
    expect(tree.get('/etc/hostname')?.content).toBe('n1\n');
    expect(tree.get('/etc/railhead/token')).toMatchObject({
      content: `${token}\n`,
      mode: 0o600,
      owner: '0:0',
    });
    expect(tree.get('/etc/railhead/node.env')?.content).toContain(appliance.httpsUrl);
    const stages = (await kindOf(appliance, 'boot.stage')).map(({ data }) => 'stage' in data && data.stage);
    expect(stages).toEqual(expect.arrayContaining(['pointer-sent', 'config-sent']));
  });

  it('waits at the TLS URL as long as the configuration can not be made, and goes on by itself', async () => {
    const { appliance, url } = await booting({ templates: true, change: (text) => withSnippet(text) });
    expect((await (await fetch(url)).json()) as Pointer).not.toHaveProperty(
      'ignition.config.replace.verification',
    );
    const machine = await machineAt(url);
    const run = machine.run('fetch');
    await until('it is told why', async () => (await kindOf(appliance, 'ignition.failed')).length > 0);
    const snippet = 'variant: flatcar\nversion: 1.0.0\nstorage: {files: [{path: /etc/late}]}\n';
    await writeFile(join(appliance.site.dir, 'templates/snippets/late.bu'), snippet);
    const { code, output } = await run;
    expect(code, output).toBe(0);
    expect((await machine.run('files')).code).toBe(0);
    expect(machine.tree().has('/etc/late')).toBe(true);
  });

  it('takes the stub that an installer has written to disk, from which the installed system is configured', async () => {
    const { appliance, token } = await booting({
      change: (text) =>
        text
          .replace('install: ram', 'install: disk')
          .replace(/^ +identity: boot.*\n/m, '')
          .replace(/^ +disk: .*\n/m, '')
          .replaceAll(/(macs: .*)/g, '$1\n    disk: /dev/disk/by-id/x'),
    });
    const ca = await readFile(appliance.dataPath('keys', 'ca.pem'), 'utf8');
    const headers = { authorization: `Bearer ${token}` };
    const stub = await ask(`${appliance.httpsUrl}/agent/v1/first-boot`, { method: 'POST', headers, ca });
    expect(isValid(tools!, stub.body)).toMatchObject({ code: 0 });
    const machine = new IgnitionMachine(tools!, await tempFolder(), { config: stub.body });
    for (const stage of ['fetch', 'files'] as const) {
      const { code, output } = await machine.run(stage);
      expect(code, output).toBe(0);
    }
    const tree = machine.tree();
    expect(tree.get('/etc/hostname')?.content).toBe('n1\n');
    expect(tree.has('/opt/railhead/bin/railhead-install')).toBe(false);
    expect(tree.get('/etc/railhead/token')?.content).not.toContain(token);
  });

  it('an edit, and a kill -9, between pointer and configuration change nothing: the hash still holds', async () => {
    const { appliance, url } = await booting();
    const pointer = await (await fetch(url)).text();
    await edit(appliance.site, (text) => text.replace('name: n1', 'name: n1\n    variables: {edited: true}'));
    await appliance.kill();
    await startedAgain(appliance);
    expect(await (await fetch(url)).text()).toBe(pointer);
    const { code, output } = await (await machineAt(url)).run('fetch');
    expect(code, output).toBe(0);
  });

  it('a hash that is not that of the configuration: Ignition refuses it', async () => {
    const { url } = await booting();
    const machine = await machineAt(
      await tampered(url, ({ ignition }) => {
        ignition.config.replace.verification = { hash: `sha512-${'0'.repeat(128)}` };
      }),
    );
    const { code, output } = await machine.run('fetch');
    expect({ code, output }).toMatchObject({
      code: 1,
      output: expect.stringContaining('hash verification failed'),
    });
  });

  it.each([
    { what: 'one that nobody was given', foreign: async () => 'x'.repeat(22) },
    {
      what: "another host's",
      foreign: (appliance: Appliance) => bootMachine(appliance, '52:54:00:12:34:02'),
    },
  ])('a foreign token ($what): Ignition gives up, and it is told', async ({ foreign }) => {
    const { appliance, url } = await booting();
    const other = await foreign(appliance);
    const machine = await machineAt(
      await tampered(url, ({ ignition }) => {
        ignition.config.replace.httpHeaders = [{ name: 'Authorization', value: `Bearer ${other}` }];
      }),
    );
    const { code, output } = await machine.run('fetch');
    expect(code, output).toBe(1);
    await until(
      'the refusal is told',
      async () => (await kindOf(appliance, 'boot.token-refused')).length === 1,
    );
    expect(await kindOf(appliance, 'boot.stage')).not.toContainEqual(
      expect.objectContaining({ data: expect.objectContaining({ stage: 'config-sent' }) }),
    );
  });

  it('a token that has expired: Ignition gives up, and it is told', async () => {
    const { appliance, token, url } = await booting();
    await fetch(url);
    // Two hours pass, in which the server was off.
    await appliance.kill();
    const db = new Database(join(appliance.site.data, 'railhead.db'));
    onTestFinished(() => void db.close());
    const { changes } = db
      .prepare('update attempts set stage_at = stage_at - 7200000 where token = ?')
      .run(idOf(token));
    expect(changes).toBe(1);
    const again = await startedAgain(appliance);
    const { code, output } = await (await machineAt(url)).run('fetch');
    expect(code, output).toBe(1);
    const refusal = { kind: 'boot.token-refused', host: 'n1', data: { what: 'pointer' } };
    const [event] = await until('the refusal is told', async () => {
      const found = await kindOf(again, 'boot.token-refused');
      return found.length > 0 && found;
    });
    expect(event).toMatchObject(refusal);
    expect(JSON.stringify(event)).toContain('expired');
  });

  it('a CA that is not ours: Ignition does not come in, and it is told what may be wrong', async () => {
    const { appliance, url } = await booting();
    const { certificatePem } = await ensureAuthority(await tempFolder(), new Date());
    const machine = await machineAt(
      await tampered(url, ({ ignition }) => {
        const source = `data:;base64,${Buffer.from(certificatePem).toString('base64')}`;
        ignition.security.tls.certificateAuthorities = [{ source }];
      }),
    );
    const run = machine.run('fetch');
    await until('it is told', async () => (await kindOf(appliance, 'boot.tls-failed')).length > 0);
    machine.stop();
    expect((await run).code).not.toBe(0);
    expect(await kindOf(appliance, 'boot.tls-failed')).toMatchObject([{ host: 'n1' }]);
    expect((await appliance.cli('events', '--json')).stdout).toMatch(/tls-failed/);
  });
});
