import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from 'js-yaml';
import pino from 'pino';
import { startApp } from '../../server/app/start.ts';
import { loadInventory } from '../../server/inventory/load.ts';
import { makeRevision } from '../../server/inventory/revision.ts';
import { resolveSettings } from '../../server/resolve-settings.ts';
import { interleaved, ms, percentile, ratio, report } from './measure.ts';

/** 10,000 hosts: how long a load takes, and what others notice of a reload. */
const HOSTS = 10_000;

const yaml = (kernelArgument: string): string =>
  [
    'clusters: [{name: c, kubernetes: 1.36.4, endpoint: "10.0.0.1:6443", podCidr: 172.16.0.0/12}]',
    `profiles: [{name: p, os: flatcar, version: 4593.2.5, kernelArguments: [${kernelArgument}]}]`,
    'pools:',
    '  - {name: control, cluster: c, role: control-plane, profile: p}',
    '  - {name: workers, cluster: c, profile: p, labels: {rack: "1"}}',
    'hosts:',
    ...Array.from({ length: HOSTS }, (_, n) => {
      const hex = n.toString(16).padStart(6, '0').match(/../g)!.join(':');
      return [
        `  - name: n${n}`,
        `    pool: ${n < 3 ? 'control' : 'workers'}`,
        `    macs: ["52:54:00:${hex}"]`,
        `    uuid: 4c4c4544-0042-3510-8052-${n.toString(16).padStart(12, '0')}`,
        `    ip: 10.${Math.floor(n / 65536)}.${Math.floor(n / 256) % 256}.${n % 256}`,
        `    variables: {rack: r${n % 40}, slot: ${n % 48}}`,
      ].join('\n');
    }),
  ].join('\n');

const text = yaml('quiet');
const files = { files: [{ name: 'hosts.yaml', text }], problems: [] };
const checked = loadInventory(files);
if (checked.inventory === undefined) throw new Error(JSON.stringify(checked.problems.slice(0, 3)));
const times = await interleaved(5, {
  parse: () => load(text),
  check: () => loadInventory(files),
  revision: () => makeRevision(checked.inventory!),
});
report([
  [`${HOSTS} hosts, ${(text.length / 1e6).toFixed(1)} MB of YAML: js-yaml alone`, ms(times.parse)],
  [
    'parse, schema, normalise, cross-checks, merge',
    `${ms(times.check)} = ${ratio(times.check / times.parse)} of js-yaml`,
  ],
  ['hash and compress the revision', ms(times.revision)],
]);

const folder = await mkdtemp(join(tmpdir(), 'railhead-bench-'));
const file = join(folder, 'hosts.yaml');
await writeFile(file, text);
const settings = resolveSettings({
  root: folder,
  cwd: folder,
  env: {},
  flags: {
    inventory: folder,
    data: join(folder, 'data'),
    bind: '127.0.0.1',
    httpPort: '0',
    httpsPort: '0',
    tftpPort: '0',
    watch: false,
  },
});
const started = performance.now();
const app = await startApp({
  env: {},
  sendSignal: () => false,
  settings,
  logger: pino({ level: 'silent' }),
  inventoryShownAs: 'bench',
  nodeBinary: process.execPath,
  onFatal: (error) => {
    throw error;
  },
});
const startTime = performance.now() - started;

/** A client that asks as fast as it is answered; every answer's time counts. */
async function latencies(until: () => boolean): Promise<number[]> {
  const result: number[] = [];
  do {
    const start = performance.now();
    await new Promise<void>((resolve, reject) => {
      get({ host: '127.0.0.1', port: app.ports.http, path: '/healthz' }, (response) => {
        response.resume();
        response.on('end', resolve);
      }).on('error', reject);
    });
    result.push(performance.now() - start);
  } while (!until());
  return result;
}

const idleEnd = performance.now() + 2000;
const idle = await latencies(() => performance.now() > idleEnd);
const reloads: number[] = [];
const busy: number[] = [];
for (let round = 0; round < 5; round++) {
  await writeFile(file, yaml(`round=${round}`));
  let done = false;
  const start = performance.now();
  const reload = app.inventory.reload().then(() => {
    done = true;
    reloads.push(performance.now() - start);
  });
  busy.push(...(await latencies(() => done)));
  await reload;
}
await app.stop('bench');
await rm(folder, { recursive: true });

const line = (values: number[]): string =>
  `p50 ${ms(percentile(values, 50))}, p99 ${ms(percentile(values, 99))}, worst ${ms(Math.max(...values))}`;
report([
  ['start of the appliance, first load included', ms(startTime)],
  ['a reload that changes every host, until it is in force', ms(percentile(reloads, 50))],
  ['another client, idle server', line(idle)],
  ['another client, during the reloads', line(busy)],
]);
