// The real kubeadm, kube-apiserver and kube-controller-manager for the tests. No package has them: they are taken
// from the folder in KUBEBUILDER_ASSETS, as other projects do, or built from Go modules and kept outside the checkout.
//
//   node scripts/lib/kubernetes-binaries.mjs   builds what is missing; a quarter of an hour on two cores
//   KUBEBUILDER_ASSETS=DIR                     use these
import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheFolder, withTempFolder } from './cache.mjs';
import { isProgram, onPath, run } from './run.mjs';
import { holdSetupLock } from './setup-lock.mjs';

export const KUBERNETES_VERSION = '1.36.4';

/** In the order in which they are built: the one that most tests need comes first. */
export const KUBERNETES_PROGRAMS = /** @type {const} */ ([
  'kubeadm',
  'kube-apiserver',
  'kube-controller-manager',
]);

/** @typedef {(typeof KUBERNETES_PROGRAMS)[number]} KubernetesProgram */

/** Modules that Kubernetes' own repository has in a folder, and publishes under versions of their own. */
const STAGING =
  `api apiextensions-apiserver apimachinery apiserver cli-runtime client-go cloud-provider cluster-bootstrap
  code-generator component-base component-helpers controller-manager cri-api cri-client cri-streaming
  csi-translation-lib dynamic-resource-allocation endpointslice externaljwt kms kube-aggregator
  kube-controller-manager kube-proxy kube-scheduler kubectl kubelet metrics mount-utils pod-security-admission
  sample-apiserver sample-cli-plugin sample-controller streaming`.split(/\s+/);

const LOWEST_PRIORITY = 19;
const BUILD_SECONDS = 1800;
/** From the start of a build on: who still waits then goes on without. */
export const PATIENCE_MS = 15 * 60_000;

const kept = () => join(cacheFolder(), 'kubernetes', `${KUBERNETES_VERSION}-${process.arch}`);
const building = () => join(kept(), '.building');

/**
 * @param {KubernetesProgram} name
 * @returns {string | undefined} its path
 */
export function findKubernetesProgram(name) {
  const folders = [process.env.KUBEBUILDER_ASSETS, kept()].filter((folder) => folder !== undefined);
  return folders.map((folder) => join(folder, name)).find(isProgram);
}

/** @returns {KubernetesProgram[]} */
function missing() {
  return KUBERNETES_PROGRAMS.filter((name) => findKubernetesProgram(name) === undefined);
}

/** Since when a build is under way that is worth waiting for. */
export function buildUnderWay() {
  try {
    const { pid, since } = JSON.parse(readFileSync(building(), 'utf8'));
    process.kill(pid, 0);
    return Date.now() - since < PATIENCE_MS ? new Date(since) : undefined;
  } catch {
    return undefined;
  }
}

/** Starts a process that builds what is missing, and lets it run beside the tests. */
export function buildInBackground() {
  if (missing().length === 0 || buildUnderWay() !== undefined || onPath('go').length === 0) return;
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url)], {
    detached: true,
    stdio: 'ignore',
  });
  mkdirSync(kept(), { recursive: true });
  writeFileSync(building(), JSON.stringify({ pid: child.pid, since: Date.now() }));
  child.unref();
}

/** Builds what is missing, one after another: each is of use as soon as it is there. */
export async function buildMissing() {
  if (missing().length === 0) return;
  if (onPath('go').length === 0) throw new Error('there is no go (https://go.dev/dl/)');
  mkdirSync(kept(), { recursive: true });
  const lock = await holdSetupLock(`${kept()}.lock`, 'building Kubernetes', () => missing().length > 0);
  if (lock === undefined) return;
  try {
    writeFileSync(building(), JSON.stringify({ pid: process.pid, since: Date.now() }));
    await withTempFolder(kept(), async (temp) => {
      writeFileSync(join(temp, 'go.mod'), goMod());
      for (const name of missing()) await build(temp, name);
    });
  } finally {
    rmSync(building(), { force: true });
    lock.release();
  }
}

/**
 * @param {string} temp
 * @param {KubernetesProgram} name
 */
async function build(temp, name) {
  const [major, minor] = KUBERNETES_VERSION.split('.');
  const facts = { gitVersion: `v${KUBERNETES_VERSION}`, gitMajor: major, gitMinor: minor };
  const stamp = Object.entries(facts).map(
    ([key, value]) => `-X k8s.io/component-base/version.${key}=${value}`,
  );
  const output = join(temp, name);
  const args = ['build', '-mod=mod', '-trimpath', '-ldflags', ['-s', '-w', ...stamp].join(' '), '-o', output];
  const env = { CGO_ENABLED: '0', GOFLAGS: '-buildvcs=false' };
  const from = `k8s.io/kubernetes/cmd/${name}`;
  const { code, err } = await run('go', [...args, from], { cwd: temp, env, seconds: BUILD_SECONDS });
  if (code !== 0) throw new Error(`go build ${name} failed: ${err.trim().split('\n').at(-1)}`);
  renameSync(output, join(kept(), name));
}

function goMod() {
  const [, minor, patch] = KUBERNETES_VERSION.split('.');
  const replaced = STAGING.map((name) => `\tk8s.io/${name} => k8s.io/${name} v0.${minor}.${patch}`);
  return [
    'module railhead.invalid/kubernetes',
    'go 1.26.0',
    `require k8s.io/kubernetes v${KUBERNETES_VERSION}`,
    `replace (\n${replaced.join('\n')}\n)\n`,
  ].join('\n\n');
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  // Tests run meanwhile: they go first.
  setPriority(LOWEST_PRIORITY);
  try {
    await buildMissing();
    for (const name of KUBERNETES_PROGRAMS) console.log(findKubernetesProgram(name));
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
