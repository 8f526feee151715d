import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { connect, createServer } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { load } from 'js-yaml';
import { ensureParts, type Part } from '../../scripts/lib/parts.mjs';
import type { KubeadmFiles } from '../../server/cluster/kubeadm-files.ts';
import { KubeadmHost } from './kubeadm.ts';
import { ensureKubernetes } from './kubernetes.ts';
import { until } from './poll.ts';

export interface ControlPlanePrograms {
  kubeadm: string;
  'kube-apiserver': string;
  'kube-controller-manager'?: string;
  etcd: Part;
}

/** What a control plane is made of, or undefined after a line that says what is missing. */
export async function ensureControlPlane(
  options: { controllerManager?: boolean } = {},
): Promise<ControlPlanePrograms | undefined> {
  const found = options.controllerManager
    ? await ensureKubernetes('kubeadm', 'kube-apiserver', 'kube-controller-manager')
    : await ensureKubernetes('kubeadm', 'kube-apiserver');
  if (found === undefined) return undefined;
  const { etcd } = await ensureParts(['etcd']);
  return etcd === undefined ? undefined : { ...found, etcd };
}

/** An address of this machine that is no loopback: kubeadm takes no other. */
export function machineAddress(): string {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? []);
  const found = all.find(({ internal, family }) => !internal && family === 'IPv4');
  if (found === undefined) throw new Error('this machine has no address but the loopback one');
  return found.address;
}

/** A port that nobody listens on at this moment. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, machineAddress(), () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });
}

/**
 * A real etcd and kube-apiserver (and controller-manager) of one host, set up by the real kubeadm from what Railhead
 * gives that host: its PKI, its flags, its encryption. Only addresses and ports are others, and there is no kubelet.
 * The cluster's `endpoint` and the host's `ip` must be `machineAddress()`, with the port that it is started with.
 */
export class ControlPlane {
  readonly port: number;
  readonly host: KubeadmHost;
  readonly #programs: ControlPlanePrograms;
  readonly #folder: string;
  readonly #running = new Map<string, ChildProcess>();
  readonly #logs = new Map<string, string>();
  #etcdPort = 0;

  private constructor(programs: ControlPlanePrograms, folder: string, port: number) {
    this.#programs = programs;
    this.#folder = folder;
    this.port = port;
    this.host = new KubeadmHost(programs.kubeadm, join(folder, 'root'));
  }

  static async start(
    programs: ControlPlanePrograms,
    answer: KubeadmFiles,
    { port, controllerManager = false }: { port: number; controllerManager?: boolean },
  ): Promise<ControlPlane> {
    const plane = new ControlPlane(programs, mkdtempSync(join(tmpdir(), 'railhead-plane-')), port);
    try {
      plane.host.place(answer);
      plane.host.mustRun('init', 'phase', 'certs', 'all', '--config', '/tmp/config.yaml');
      plane.host.mustRun('init', 'phase', 'kubeconfig', 'all', '--config', '/tmp/config.yaml');
      plane.host.mustRun('init', 'phase', 'control-plane', 'all', '--config', '/tmp/config.yaml');
      await plane.startEtcd();
      await plane.startApi();
      if (controllerManager) await plane.startControllerManager();
      return plane;
    } catch (error) {
      await plane.stop();
      throw error;
    }
  }

  /** Where etcd keeps everything. */
  get etcdFolder(): string {
    return join(this.#folder, 'etcd');
  }

  /** What may do everything, as kubeadm made it. */
  get superAdmin(): string {
    return readFileSync(this.host.path('/etc/kubernetes/super-admin.conf'), 'utf8');
  }

  /** A file with it, for kubectl. */
  get superAdminFile(): string {
    return this.host.path('/etc/kubernetes/super-admin.conf');
  }

  /**
   * What `kubeadm init` does once the API is there: binds its administrators, and lets those join who have a token.
   * The first host's node has to be there already for all of it.
   */
  bootstrap(): void {
    // kubeadm speaks to the host's own API server, by the address that it advertises.
    const given = readFileSync(this.host.path('/tmp/config.yaml'), 'utf8');
    const here = given
      .replace(/^( +advertiseAddress:).*$/m, `$1 ${machineAddress()}`)
      .replace(/^( +bindPort:).*$/m, `$1 ${this.port}`);
    this.host.write('/tmp/here.yaml', here);
    const config = ['--config', '/tmp/here.yaml'];
    this.host.mustRun('init', 'phase', 'upload-config', 'kubeadm', ...config);
    this.host.mustRun('init', 'phase', 'upload-config', 'kubelet', ...config);
    this.host.mustRun('init', 'phase', 'bootstrap-token', ...config);
  }

  async startEtcd(): Promise<void> {
    const pki = this.host.path('/etc/kubernetes/pki/etcd');
    this.#etcdPort = this.#etcdPort || (await freePort());
    const url = `https://127.0.0.1:${this.#etcdPort}`;
    const peer = `https://127.0.0.1:${await freePort()}`;
    const { path, loader, env } = this.#programs.etcd;
    this.#spawn(
      'etcd',
      [
        ...loader,
        path,
        '--name=test',
        `--data-dir=${join(this.#folder, 'etcd')}`,
        `--listen-client-urls=${url}`,
        `--advertise-client-urls=${url}`,
        `--listen-peer-urls=${peer}`,
        `--initial-advertise-peer-urls=${peer}`,
        `--initial-cluster=test=${peer}`,
        '--client-cert-auth=true',
        `--trusted-ca-file=${pki}/ca.crt`,
        `--cert-file=${pki}/server.crt`,
        `--key-file=${pki}/server.key`,
        '--peer-client-cert-auth=true',
        `--peer-trusted-ca-file=${pki}/ca.crt`,
        `--peer-cert-file=${pki}/peer.crt`,
        `--peer-key-file=${pki}/peer.key`,
        '--unsafe-no-fsync',
        '--log-level=warn',
      ],
      env,
    );
    await this.#until('etcd', () => accepts(this.#etcdPort));
  }

  async startApi(): Promise<void> {
    const overrides = {
      'etcd-servers': `https://127.0.0.1:${this.#etcdPort}`,
      'advertise-address': machineAddress(),
      'bind-address': machineAddress(),
      'secure-port': String(this.port),
      'endpoint-reconciler-type': 'none',
    };
    const args = this.#manifestArgs('kube-apiserver', overrides);
    this.#spawn('kube-apiserver', [this.#programs['kube-apiserver'], ...args]);
    const ca = readFileSync(this.host.path('/etc/kubernetes/pki/ca.crt'));
    await this.#until('kube-apiserver', () => isReady(this.port, ca));
  }

  async startControllerManager(): Promise<void> {
    const program = this.#programs['kube-controller-manager'];
    if (program === undefined) throw new Error('there is no kube-controller-manager');
    // kubeadm points it to the port that the API server would have on a host of its own.
    const given = readFileSync(this.host.path('/etc/kubernetes/controller-manager.conf'), 'utf8');
    const here = given.replace(/server: .*/, `server: https://${machineAddress()}:${this.port}`);
    this.host.write('/etc/kubernetes/controller-manager-here.conf', here);
    const kubeconfig = this.host.path('/etc/kubernetes/controller-manager-here.conf');
    const overrides = {
      kubeconfig,
      'authentication-kubeconfig': kubeconfig,
      'authorization-kubeconfig': kubeconfig,
      'secure-port': String(await freePort()),
      'leader-elect': 'false',
      'cluster-signing-cert-file': this.host.path('/etc/kubernetes/pki/ca.crt'),
    };
    this.#spawn('kube-controller-manager', [
      program,
      ...this.#manifestArgs('kube-controller-manager', overrides),
    ]);
  }

  /** Ends one of them, as a crash would. */
  async kill(name: 'etcd' | 'kube-apiserver' | 'kube-controller-manager'): Promise<void> {
    const child = this.#running.get(name);
    if (child === undefined) return;
    this.#running.delete(name);
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL');
      await ended;
    }
  }

  async stop(): Promise<void> {
    // The API server first: without its etcd it would wait for it.
    await this.kill('kube-controller-manager');
    await this.kill('kube-apiserver');
    await this.kill('etcd');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** The end of what a program said. */
  log(name: string): string {
    return (this.#logs.get(name) ?? '').slice(-4000);
  }

  #spawn(name: string, [program = '', ...args]: string[], env: Record<string, string> = {}): void {
    const child = spawn(program, args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: process.env.PATH ?? '', ...env },
    });
    child.on('error', () => {});
    child.stderr.on('data', (chunk: Buffer) => {
      this.#logs.set(name, `${this.#logs.get(name) ?? ''}${chunk}`.slice(-100_000));
    });
    this.#running.set(name, child);
  }

  /** Until it answers; not for longer than it lives. */
  async #until(name: string, probe: () => Promise<boolean>): Promise<void> {
    const child = this.#running.get(name)!;
    const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
    await until(`${name} answers`, async () => hasEnded() || probe(), 90_000);
    if (hasEnded()) throw new Error(`${name} has ended: ${this.log(name)}`);
  }

  /** The flags that kubeadm made of our configuration, with paths below its root, and some replaced. */
  #manifestArgs(name: string, overrides: Record<string, string>): string[] {
    const manifest = load(readFileSync(this.host.path(`/etc/kubernetes/manifests/${name}.yaml`), 'utf8')) as {
      spec: { containers: { command: string[] }[] };
    };
    const [, ...args] = manifest.spec.containers[0]!.command;
    const kept = args.filter((arg) => !Object.keys(overrides).some((key) => arg.startsWith(`--${key}=`)));
    return [
      ...kept.map((arg) => arg.replace(/=(\/(etc|var)\/)/, `=${this.host.root}$1`)),
      ...Object.entries(overrides).map(([key, value]) => `--${key}=${value}`),
    ];
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

function isReady(port: number, ca: Buffer): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const asked = request(
      { host: machineAddress(), port, path: '/readyz', ca, timeout: 30_000 },
      (response) => {
        response.resume();
        resolve(response.statusCode === 200);
      },
    );
    asked.on('timeout', () => asked.destroy(new Error('no answer')));
    asked.on('error', reject);
    asked.end();
  });
}
