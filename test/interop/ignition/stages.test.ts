import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatProblem } from '../../../server/document/problem.ts';
import { isRecord } from '../../../server/document/shape.ts';
import { noopDefinition } from '../../../server/feed/transfer-definition.ts';
import type { ButaneLayer } from '../../../server/ignition/butane-text.ts';
import { composeConfig, layersOf } from '../../../server/ignition/compose.ts';
import type { Purpose } from '../../../server/ignition/delivery.ts';
import { sysextsOfHost } from '../../../server/ignition/host-sysexts.ts';
import { readerOfFolders } from '../../../server/ignition/local-files.ts';
import { templateValues } from '../../../server/ignition/values.ts';
import { TemplateFolders, templateFolders } from '../../../server/templating/template-folders.ts';
import { inventoryOf } from '../../inventory/make.ts';
import { type Found, IgnitionMachine, ignitionTools, isValid } from './run-ignition.ts';

const TEMPLATES = fileURLToPath(new URL('../../../templates', import.meta.url));
const TOKEN = 'a-token-of-22-letters-';
const KEYRING = Buffer.from([0x99, 0x01, 0x00, 0xff, 0xfe]);
const SSH_KEY = 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIE= me@desk "quoted" {{not.a.name}}';

const tools = await ignitionTools();

interface Case {
  mode: 'ram' | 'ram with a disk' | 'disk: installer' | 'disk: system';
  role: 'control-plane' | 'worker' | 'no member';
  sysexts: 'sysupdate' | 'ignition';
  network: 'static' | 'DHCP';
}

const CASES: Case[] = (['ram', 'ram with a disk', 'disk: installer', 'disk: system'] as const).flatMap(
  (mode) =>
    (['control-plane', 'worker', 'no member'] as const).flatMap((role) =>
      (['sysupdate', 'ignition'] as const).flatMap((sysexts) =>
        (['static', 'DHCP'] as const).map((network) => ({ mode, role, sysexts, network })),
      ),
    ),
);

function inventoryText({ mode, role, sysexts, network }: Case): string {
  const install = mode.startsWith('disk') ? 'disk' : 'ram';
  const disk = mode === 'ram' ? '' : ", disk: {serial: \"it's a 'disk'\", minSizeGB: 100}";
  const address =
    network === 'DHCP'
      ? ''
      : ', ip: 10.0.0.11, network: {prefixLength: 24, gateway: 10.0.0.1, dns: [10.0.0.2], domains: [a.example, b.example]}';
  return `
clusters: [{name: lab, kubernetes: 1.36.4, containerd: 2.1.5}]
profiles: [{name: flatcar, os: flatcar, version: 4593.2.5, install: ${install}, sysexts: ${sysexts}, sshKeys: ['${SSH_KEY}']}]
pools: [{name: pool, profile: flatcar${role === 'no member' ? '' : `, cluster: lab, role: ${role}`}}]
hosts: [{name: n1, pool: pool, macs: [52:54:00:12:34:01]${disk}${address}}]
`;
}

/** Where hosts get images from. */
let feed: { url: string; stop: () => void };
const imageOf = (file: string): string => `the image ${file}\n`;

beforeAll(async () => {
  const server = createServer((request, response) => response.end(imageOf(request.url!.split('/').at(-1)!)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  feed = { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, stop: () => server.close() };
});
afterAll(() => feed.stop());

async function compose(given: Case): Promise<{ text: string; layers: readonly ButaneLayer[] }> {
  const inventory = inventoryOf(inventoryText(given));
  const host = inventory.hosts[0]!;
  const purpose: Purpose = given.mode === 'disk: installer' ? 'installer' : 'system';
  const values = templateValues({
    host,
    cluster: inventory.clusters.find(({ name }) => name === host.cluster),
    purpose,
    server: {
      url: feed.url,
      httpsUrl: 'https://10.0.0.5:8443',
      ca: '-----BEGIN CERTIFICATE-----\nMIIB+/=\n',
    },
    sysexts: await sysextsOfHost(host, {
      baseUrl: feed.url,
      find: async ({ name, version, arch }) => {
        const file = `${name}-${version}-${arch}.raw`;
        return { file, sha256: createHash('sha256').update(imageOf(file)).digest('hex') };
      },
    }),
    feed: { keyring: KEYRING, noop: noopDefinition() },
    wipe: false,
    secrets: { token: TOKEN, read: () => '' },
  });
  const folders = templateFolders(TEMPLATES);
  const composed = composeConfig(
    { set: new TemplateFolders({ folders, now: Date.now }).current().set, files: readerOfFolders(folders) },
    layersOf(host, purpose),
    values,
  );
  if ('problems' in composed) throw new Error(composed.problems.map(formatProblem).join('\n'));
  return { text: JSON.stringify(composed.config), layers: composed.layers };
}

/** What the Butane of the templates says, read here once more: no code of the product has a say in it. */
function expectedOf(layers: readonly ButaneLayer[]): Map<string, Found> {
  const expected = new Map<string, Found>();
  const presets: string[] = [];
  const add = (path: string, kind: Found['kind'], mode: number, content: string): void =>
    void expected.set(path, { kind, mode, owner: '0:0', content });
  for (const { document } of layers) {
    const { passwd, storage, systemd } = document.value as Butane;
    for (const { path, mode, contents } of storage?.files ?? [])
      add(path, 'file', octal(mode), contentOf(contents));
    for (const { path, mode } of storage?.directories ?? []) add(path, 'directory', octal(mode), '');
    for (const { path, target } of storage?.links ?? []) add(path, 'link', 0o777, target);
    for (const { name, contents, enabled, mask, dropins } of systemd?.units ?? []) {
      if (contents !== undefined) add(`/etc/systemd/system/${name}`, 'file', 0o644, contents);
      if (mask) add(`/etc/systemd/system/${name}`, 'link', 0o777, '/dev/null');
      if (enabled) presets.push(`enable ${name}\n`);
      for (const dropin of dropins ?? []) {
        add(`/etc/systemd/system/${name}.d/${dropin.name}`, 'file', 0o644, dropin.contents);
      }
    }
    for (const { name, ssh_authorized_keys: keys } of passwd?.users ?? []) {
      const content = `${keys.join('\n')}\n`;
      const path = `/home/${name}/.ssh/authorized_keys.d/ignition`;
      expected.set(path, { kind: 'file', mode: 0o600, owner: '500:500', content });
    }
  }
  add('/etc/systemd/system-preset/20-ignition.preset', 'file', 0o644, presets.sort().join(''));
  return expected;
}

interface Butane {
  passwd?: { users?: { name: string; ssh_authorized_keys: string[] }[] };
  storage?: {
    files?: { path: string; mode: number; contents: unknown }[];
    directories?: { path: string; mode: number }[];
    links?: { path: string; target: string }[];
  };
  systemd?: {
    units?: {
      name: string;
      contents?: string;
      enabled?: boolean;
      mask?: boolean;
      dropins?: { name: string; contents: string }[];
    }[];
  };
}

/** YAML reads 0644 as 644. */
function octal(mode: number): number {
  return Number.parseInt(String(mode), 8);
}

function contentOf(contents: unknown): string {
  if (!isRecord(contents)) throw new Error('no contents');
  const { inline, local, source } = contents;
  if (typeof inline === 'string') return Buffer.from(inline).toString('latin1');
  if (typeof local === 'string') return readFileSync(join(TEMPLATES, local), 'latin1');
  if (typeof source !== 'string') throw new Error('no source');
  if (source.startsWith('data:;base64,')) return Buffer.from(source.slice(13), 'base64').toString('latin1');
  return imageOf(source.split('/').at(-1)!);
}

/** What is there before Ignition, and what it leaves for itself. */
const NOT_OURS = /^\/(etc\/(passwd|group|selinux\/config|\.ignition-result\.json))$/;

describe.skipIf(tools === undefined)("the real Ignition's fetch and files stages", () => {
  it.each(CASES)(
    '$mode, $role, sysexts by $sysexts, $network: writes what the templates say',
    async (given) => {
      const { text, layers } = await compose(given);
      expect(isValid(tools!, text)).toMatchObject({ code: 0, said: '' });
      const dir = await mkdtemp(join(tmpdir(), 'railhead-ignition-'));
      try {
        const machine = new IgnitionMachine(tools!, dir, { config: text });
        for (const stage of ['fetch', 'files'] as const) {
          const { code, output } = await machine.run(stage);
          expect(code, output).toBe(0);
        }
        const expected = expectedOf(layers);
        const preset = '/etc/systemd/system-preset/20-ignition.preset';
        const tree = machine.tree();
        const lines = tree.get(preset)!.content.split('\n').filter(Boolean).sort();
        tree.set(preset, { ...tree.get(preset)!, content: lines.map((line) => `${line}\n`).join('') });
        // Folders that nobody has named are made for the files in them.
        const written = [...tree].filter(
          ([path, { kind }]) => !NOT_OURS.test(path) && (kind !== 'directory' || expected.has(path)),
        );
        expect(Object.fromEntries(written.sort())).toEqual(Object.fromEntries([...expected].sort()));
      } finally {
        await rm(dir, { recursive: true, force: true });
      }
    },
  );
});
