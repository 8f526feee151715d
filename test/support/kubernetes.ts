import { setTimeout as sleep } from 'node:timers/promises';
import {
  buildInBackground,
  buildUnderWay,
  findKubernetesProgram,
  KUBERNETES_VERSION,
  type KubernetesProgram,
} from '../../scripts/lib/kubernetes-binaries.mjs';
import { onPath } from '../../scripts/lib/run.mjs';
import { NOTHING_FETCHED, skipped } from './skipped.ts';

const LOOK_MS = 1_000;

/**
 * Paths of the real programs, or undefined after one line that says why not. They are built beside the tests when
 * they are missing; who comes too early waits for a while, and goes without when that takes too long.
 */
export async function ensureKubernetes<Name extends KubernetesProgram>(
  ...names: Name[]
): Promise<{ [name in Name]: string } | undefined> {
  const skip = (why: string): undefined =>
    skipped(`clusters against the real ${names.join(', ')} ${KUBERNETES_VERSION}`, why);
  if (process.env.RAILHEAD_TEST_PARTS === 'none') return skip(NOTHING_FETCHED);
  // kubeadm is kept out of the machine's own /etc/kubernetes by chroot.
  if (process.getuid?.() !== 0) return skip('kubeadm --rootfs needs root');
  const find = () => names.map((name) => [name, findKubernetesProgram(name)] as const);
  if (find().some(([, path]) => path === undefined)) buildInBackground();
  while (find().some(([, path]) => path === undefined) && buildUnderWay() !== undefined) await sleep(LOOK_MS);
  const found = find();
  if (found.every(([, path]) => path !== undefined)) {
    return Object.fromEntries(found) as { [name in Name]: string };
  }
  const build = 'run `node scripts/lib/kubernetes-binaries.mjs` and then this again';
  return skip(
    onPath('go').length === 0
      ? 'they are built with Go: install it (https://go.dev/dl/), or set KUBEBUILDER_ASSETS to their folder'
      : `they are not built yet; ${build}`,
  );
}
