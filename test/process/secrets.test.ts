import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { fileIn } from '../../server/ignition/config-file.ts';
import { type Appliance, ask, newSite, startAppliance } from '../support/appliance.ts';
import { bootMachine, giveImage } from '../support/booting.ts';
import { hitsOf, keysOf, placesOf } from '../support/places.ts';
import { until } from '../support/poll.ts';

const FROM_FILE = 'rosebud-of-the-file';
const FROM_ENV = 'rosebud "of" the\\environment';
const SECRET = 'c0ffee11'.repeat(8);
const HOSTS = `
clusters: [{name: lab, kubernetes: 1.36.4, containerd: 2.1.5}]
profiles:
  - {name: ram, os: flatcar, version: 4593.2.5, variables: {db: {password: {fromFile: secrets/db.txt}}, keys: [{fromEnv: API_KEY}]}}
  - {name: disk, os: flatcar, version: 4593.2.5, install: disk}
pools:
  - {name: ram, profile: ram, cluster: lab}
  - {name: disk, profile: disk}
hosts:
  - {name: n1, pool: ram, macs: ['52:54:00:12:34:01'], snippets: [secret.bu]}
  - {name: n2, pool: ram, macs: ['52:54:00:12:34:02'], snippets: [broken.bu]}
  - {name: n3, pool: disk, macs: ['52:54:00:12:34:03'], disk: /dev/disk/by-id/x}
`;
const HEAD = 'variant: flatcar\nversion: 1.0.0\nstorage:\n  files:\n';
const SNIPPETS = {
  'secret.bu': `${HEAD}    - {path: /etc/db, contents: {inline: "{{variables.db.password}}"}}\n    - {path: /etc/api, contents: {inline: "{{lookup variables.keys 0}}"}}\n`,
  // What is wrong with it would quote it.
  'broken.bu': `${HEAD}    - {path: "{{variables.db.password}}", mode: "{{lookup variables.keys 0}}"}\n`,
};

async function start(): Promise<Appliance> {
  const site = await newSite();
  await giveImage(site);
  await writeFile(join(site.inventory, 'example.yaml'), HOSTS);
  await mkdir(join(site.inventory, 'secrets'));
  await writeFile(join(site.inventory, 'secrets/db.txt'), `${FROM_FILE}\n`);
  const templates = join(site.dir, 'templates');
  await mkdir(join(templates, 'snippets'), { recursive: true });
  for (const [name, text] of Object.entries(SNIPPETS))
    await writeFile(join(templates, 'snippets', name), text);
  const { data, inventory } = site;
  const env = { RAILHEAD_TEMPLATES: templates, RAILHEAD_LOG_LEVEL: 'trace', API_KEY: FROM_ENV };
  return startAppliance({ data, inventory, env });
}

/** Everything that happens to machines, and the secrets that it takes: by what they are called. */
async function boots(appliance: Appliance): Promise<Record<string, string>> {
  const ca = await readFile(appliance.dataPath('keys', 'ca.pem'), 'utf8');
  const call = async (path: string, token: string, body?: object) => {
    const headers = { authorization: `Bearer ${token}`, ...(body && { 'content-type': 'application/json' }) };
    const method = path.startsWith('/agent') ? 'POST' : 'GET';
    const json = body === undefined ? {} : { body: JSON.stringify(body) };
    return ask(`${appliance.httpsUrl}${path}`, { method, headers, ca, ...json });
  };
  const attempt = await bootMachine(appliance, '52:54:00:12:34:01');
  await appliance.ask(`/boot/${attempt}/pointer.ign`);
  const config = JSON.parse((await call(`/boot/${attempt}/config.ign`, attempt)).body);
  // The secrets are where they must be: else finding none elsewhere would mean nothing.
  expect(fileIn(config, '/etc/db')?.toString()).toBe(FROM_FILE);
  expect(fileIn(config, '/etc/api')?.toString()).toBe(FROM_ENV);
  const agent = JSON.parse(
    (await call('/agent/v1/register', attempt, { secret: SECRET, bootId: 'b' })).body,
  ).token;
  await call('/agent/v1/stage', agent, { stage: 'boot-complete' });
  await call('/agent/v1/register', agent, { secret: SECRET, bootId: 'b' });
  await call(`/boot/${attempt}/config.ign`, agent);

  const unmakable = await bootMachine(appliance, '52:54:00:12:34:02');
  await appliance.ask(`/boot/${unmakable}/pointer.ign`);

  const install = await bootMachine(appliance, '52:54:00:12:34:03');
  await appliance.ask(`/boot/${install}/pointer.ign`);
  const stub = JSON.parse((await call('/agent/v1/first-boot', install)).body);
  const firstBoot = /\/boot\/([\w-]{22})\//.exec(stub.ignition.config.replace.source)![1]!;
  expect((await call(`/boot/${firstBoot}/config.ign`, firstBoot)).status).toBe(200);

  const admin = await appliance.token();
  const revealed = await appliance.ask('/ignition/n1?reveal&file=/etc/db', {
    headers: { authorization: `Bearer ${admin}` },
  });
  expect(revealed.body).toBe(FROM_FILE);
  await appliance.ask('/ignition/n2?reveal', { headers: { authorization: `Bearer ${admin}` } });
  return {
    'a secret of a file': FROM_FILE,
    'a secret of the environment': FROM_ENV,
    'the same in JSON': JSON.stringify(FROM_ENV).slice(1, -1),
    'the token of a boot': attempt,
    'the token of a boot without a configuration': unmakable,
    'the token of an installation': install,
    'the token of a machine': agent,
    'the token on a disk': firstBoot,
    "a machine's secret": SECRET,
    'the admin token': admin,
    ...(await keysOf(appliance)),
  };
}

const LOOK = {
  hosts: ['n1', 'n2', 'n3'],
  queries: {
    '/boot.ipxe': ['?mac=52:54:00:12:34:09', '?serial=x'],
    '/ignition/:host': [
      '',
      '?format=butane',
      '?file=/etc/db',
      '?file=/etc/railhead/token',
      '?reveal',
      '?purpose=installer',
    ],
    '/api/v1/events': ['?limit=1000'],
  },
  commands: [['hosts'], ['host', 'n1'], ['events'], ['render', 'n1'], ['render', 'n2'], ['doctor']],
};

describe('secrets', () => {
  it('are in no answer without a token, no log, no event, no page, no database and no plain backup', async () => {
    const appliance = await start();
    const secrets = await boots(appliance);
    await until('it is told that n2 has none', async () =>
      (await appliance.events()).some(({ kind, host }) => kind === 'ignition.failed' && host === 'n2'),
    );
    const looked = await placesOf(appliance, LOOK);
    expect(looked['its output']).toContain('"level":30');
    const hits = hitsOf(secrets, looked);
    console.log(
      `secrets: ${Object.keys(secrets).length} looked for in ${Object.keys(looked).length} places, ${hits.length} found`,
    );
    expect(hits).toEqual([]);
  });

  it('a token is not in the log of a request that is told to wait', async () => {
    const appliance = await start();
    const token = await bootMachine(appliance, '52:54:00:12:34:01');
    expect(await appliance.cli('hold', 'n1', '--reason', 'a test')).toMatchObject({ code: 0 });
    const ca = await readFile(appliance.dataPath('keys', 'ca.pem'), 'utf8');
    const headers = { authorization: `Bearer ${token}` };
    const { status } = await ask(`${appliance.httpsUrl}/boot/${token}/config.ign`, { headers, ca });
    expect(status).toBe(503);
    await until('it is told', async () =>
      (await appliance.events()).some(({ kind }) => kind === 'boot.token-refused'),
    );
    expect(appliance.output).not.toContain(token);
  });
});
