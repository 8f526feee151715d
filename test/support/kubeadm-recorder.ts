import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { loadAll } from 'js-yaml';
import type { KubeadmFiles } from '../../server/cluster/kubeadm-files.ts';
import type { Boot } from './lab.ts';

/** One call of `kubeadm init` or `kubeadm join`, as its stand-in in the guest (guest-systemd) told of it. */
export interface RecordedCall extends KubeadmFiles {
  /** Modes and owners of all files below /etc/kubernetes. */
  found: Record<string, string>;
  /** The documents of its configuration, by their kinds. */
  kinds: Record<string, Record<string, unknown>>;
  /** The command lines of all processes, at each request that was made up to then. */
  processes: string;
  /** What the host itself asks with. */
  agentToken: string;
}

/** What happened in the guest, in order: extensions, clock, containerd, kubeadm. */
export function orderOf({ serial }: Boot): string[] {
  return [...serial.matchAll(/^GUEST: order (.*)$/gm)].map(([, what = '']) => what);
}

/** How the unit ended, as systemd shows it. */
export function unitOf({ serial }: Boot): Record<string, string> {
  const shown = /^GUEST: unit (.*)$/m.exec(serial)?.[1] ?? '';
  return Object.fromEntries([...shown.matchAll(/(\w+)=(\w*)/g)].map(([, name, value]) => [name, value]));
}

export function callsOf({ serial }: Boot): RecordedCall[] {
  const [, ...calls] = serial.split(/^GUEST: order kubeadm (?=init|join)/m);
  return calls.map((told) => {
    const found = [...told.matchAll(/^GUEST: found (\d+ \w+) \/etc\/kubernetes\/(\S+)$/gm)];
    const archive = [...told.matchAll(/^GUEST: given (\S+)$/gm)].map(([, line]) => line).join('');
    return {
      found: Object.fromEntries(found.map(([, mode, path]) => [path, mode])),
      ...unpacked(Buffer.from(archive, 'base64')),
    };
  });
}

function unpacked(archive: Buffer): Omit<RecordedCall, 'found'> {
  const folder = mkdtempSync(join(tmpdir(), 'railhead-given-'));
  try {
    const { status, stderr } = spawnSync('tar', ['-xz', '-C', folder], { input: archive });
    if (status !== 0) throw new Error(`what kubeadm was given did not arrive: ${stderr}`);
    const text = (path: string): string => readFileSync(join(folder, path), 'utf8');
    const config = text('run/guest-config.yaml');
    const documents = loadAll(config) as ({ kind: string } & Record<string, unknown>)[];
    return {
      config,
      kinds: Object.fromEntries(documents.map((document) => [document.kind, document])),
      files: filesBelow(join(folder, 'etc/kubernetes')),
      processes: text('run/guest-processes'),
      agentToken: text('run/railhead/token').trim(),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function filesBelow(folder: string): KubeadmFiles['files'] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .map((path) => ({ path: relative(folder, path), content: readFileSync(path, 'utf8') }));
}
