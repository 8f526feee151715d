import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { KubeadmFiles } from '../../server/cluster/kubeadm-files.ts';

/** The real kubeadm in a folder that is a whole file system to it: it never sees this machine's /etc/kubernetes. */
export class KubeadmHost {
  readonly root: string;
  readonly #kubeadm: string;

  constructor(kubeadm: string, root: string) {
    this.#kubeadm = kubeadm;
    this.root = root;
    for (const folder of ['etc/kubernetes', 'tmp', 'proc', 'var/lib']) {
      mkdirSync(join(root, folder), { recursive: true });
    }
    // The kubeadm that looks for itself, and for a kubelet: neither is run.
    mkdirSync(join(root, 'usr/bin'), { recursive: true });
    cpSync('/etc/hosts', join(root, 'etc/hosts'));
  }

  /** Where a path of the host is. */
  path(path: string): string {
    return join(this.root, path);
  }

  write(path: string, content: string): void {
    mkdirSync(dirname(this.path(path)), { recursive: true });
    writeFileSync(this.path(path), content, { mode: 0o600 });
  }

  /** Puts everything where `railhead-node` puts it. */
  place({ config, files }: KubeadmFiles): void {
    this.write('/tmp/config.yaml', config);
    for (const { path, content } of files) {
      if (path.startsWith('after/')) continue;
      this.write(join('/etc/kubernetes', path.replace(/^etc\//, '')), content);
    }
  }

  run(...args: string[]): { code: number; output: string } {
    const { status, stdout, stderr } = spawnSync(this.#kubeadm, [...args, '--rootfs', this.root], {
      encoding: 'utf8',
      timeout: 120_000,
      // Also where it would forget the folder it was given.
      env: { PATH: process.env.PATH ?? '', KUBEADM_INIT_DRYRUN_DIR: '/tmp', KUBEADM_JOIN_DRYRUN_DIR: '/tmp' },
    });
    return { code: status ?? -1, output: `${stdout}${stderr}` };
  }

  /** Throws when it fails. */
  mustRun(...args: string[]): string {
    const { code, output } = this.run(...args);
    if (code !== 0) throw new Error(`kubeadm ${args.join(' ')} failed:\n${output}`);
    return output;
  }
}
