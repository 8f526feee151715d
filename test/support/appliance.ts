import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { request as httpRequest, type IncomingHttpHeaders } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { bundledNode } from '../../scripts/lib/packages.mjs';
import type { RunningServer } from '../../server/data-folder.ts';
import type { Event } from '../../server/events/kinds.ts';
import type { Readiness } from '../../server/readiness.ts';
import { until } from './poll.ts';
import { skipped } from './skipped.ts';

export const ROOT = dirname(dirname(dirname(fileURLToPath(import.meta.url))));
export const NODE = bundledNode(ROOT) ?? process.execPath;
export const RAILHEAD = join(ROOT, 'scripts', 'railhead.mjs');

/** What every process here is told to do with its ports: any free one, on the loopback address. */
export const ANY_PORTS = {
  RAILHEAD_HTTP_PORT: '0',
  RAILHEAD_HTTPS_PORT: '0',
  RAILHEAD_TFTP_PORT: '0',
  RAILHEAD_BIND: '127.0.0.1',
};

/** The same for every run, readable for all: some tests run as another user. */
const SHARED = join(tmpdir(), `railhead-test-${process.getuid?.() ?? 0}`);
mkdirSync(SHARED, { recursive: true });

/** Compiled once for all processes: starting them is most of what these tests do. Node checks it by the source. */
const COMPILE_CACHE = join(SHARED, 'compile-cache');

/** So that a `railhead.yaml` of whoever runs the tests has no say in them. */
export const NO_SETTINGS = join(SHARED, 'railhead.yaml');
writeFileSync(NO_SETTINGS, '# nothing\n');

/** Gives a command a terminal: `script`, of which Debian is never without. */
export const hasTerminal = existsSync('/usr/bin/script');
if (!hasTerminal)
  skipped('commands at a terminal', 'they need the program `script` (apt-get install bsdutils)');

/** `railhead up` at a terminal. */
export const AT_TERMINAL = ['script', '-qefc', `${NODE} ${RAILHEAD} up`, '/dev/null'];

export interface RunOptions {
  /** Added to an environment that has nothing of whoever runs the tests: no RAILHEAD_*, no DATABASE_URL. */
  env?: Record<string, string | undefined>;
  cwd?: string;
  /** What to start in place of `node scripts/railhead.mjs`. */
  command?: readonly string[];
  /** Programs that start the command, such as `nsenter -t 123 -m`. */
  through?: readonly string[];
  /** Given to standard input, which is then closed. */
  input?: string;
  /** A process group of its own, as a terminal gives each job. */
  detached?: boolean;
}

export interface Ended {
  /** `null` when a signal ended it. */
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
}

/** A process that was started here: everything it says is kept. */
export class Started {
  readonly child: ChildProcess;
  readonly ended: Promise<Ended>;
  stdout = '';
  stderr = '';

  constructor(args: readonly string[], options: RunOptions = {}) {
    const { env, cwd, command = [NODE, RAILHEAD], through = [], input = '', detached = false } = options;
    const [program = '', ...rest] = [...through, ...command, ...args];
    this.child = spawn(program, rest, {
      cwd: cwd ?? tmpdir(),
      env: {
        PATH: process.env.PATH,
        HOME: SHARED,
        LANG: 'C.UTF-8',
        RAILHEAD_CONFIG: NO_SETTINGS,
        // No boot loaders from elsewhere: what is there is what the test put there.
        RAILHEAD_NO_APT: '1',
        NODE_COMPILE_CACHE: COMPILE_CACHE,
        ...env,
      },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached,
    });
    this.child.stdin?.on('error', () => {});
    this.child.stdin?.end(input);
    this.child.stdout?.on('data', (chunk: Buffer) => {
      this.stdout += chunk;
    });
    this.child.stderr?.on('data', (chunk: Buffer) => {
      this.stderr += chunk;
    });
    this.ended = new Promise((resolve, reject) => {
      this.child.once('error', reject);
      this.child.once('close', (code, signal) =>
        resolve({ code, signal, stdout: this.stdout, stderr: this.stderr }),
      );
    });
    this.ended.catch(() => {});
  }

  get pid(): number {
    return this.child.pid ?? -1;
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null || this.child.pid === undefined;
  }

  get output(): string {
    return `${this.stdout}\n${this.stderr}`;
  }

  signal(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** kill -9, if it has not ended by itself. */
  async kill(): Promise<Ended> {
    if (!this.hasEnded) this.child.kill('SIGKILL');
    return this.ended;
  }
}

/** Starts a command; it is ended with the test. */
export function startRailhead(args: readonly string[], options: RunOptions = {}): Started {
  const started = new Started(args, options);
  onTestFinished(async () => {
    await started.kill().catch(() => {});
  });
  return started;
}

/** Runs a command to its end. */
export function railhead(args: readonly string[], options: RunOptions = {}): Promise<Ended> {
  return startRailhead(args, options).ended;
}

export interface ApplianceOptions extends RunOptions {
  /** Its data folder; without it, a new one that is removed afterwards. */
  data?: string;
  /** Its inventory folder; without it, a new one with a copy of the example. */
  inventory?: string;
  /** Flags of `up`. */
  flags?: readonly string[];
}

/** A folder for one appliance: `data/` (not made yet) and `inventory/` (with the example). */
export interface Site {
  dir: string;
  data: string;
  inventory: string;
}

/** For hooks; tests have `newSite`. */
export async function makeSite(): Promise<Site> {
  const dir = await mkdtemp(join(tmpdir(), 'railhead-site-'));
  const site = { dir, data: join(dir, 'data'), inventory: join(dir, 'inventory') };
  await mkdir(site.inventory);
  await cp(join(ROOT, 'inventory', 'example.yaml'), join(site.inventory, 'example.yaml'));
  return site;
}

/** A site that is gone when the test is over. */
export async function newSite(): Promise<Site> {
  const site = await makeSite();
  onTestFinished(() => rm(site.dir, { recursive: true, force: true }));
  return site;
}

/** What `up` gets besides its flags: this site, any free ports, no boot loaders and no images. */
export function siteEnv(site: Site): Record<string, string> {
  return {
    ...ANY_PORTS,
    RAILHEAD_DATA: site.data,
    RAILHEAD_INVENTORY: site.inventory,
    RAILHEAD_BOOT: join(site.dir, 'boot'),
    RAILHEAD_ASSETS: join(site.dir, 'assets'),
  };
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

export interface RequestOptions {
  method?: string;
  headers?: Record<string, string>;
  body?: string;
}

/** A real `railhead up`. */
export class Appliance extends Started {
  readonly site: Site;
  server!: RunningServer;

  constructor(site: Site, { flags = [], env, ...options }: Omit<ApplianceOptions, 'data' | 'inventory'>) {
    super(['up', ...flags], { cwd: site.dir, ...options, env: { ...siteEnv(site), ...env } });
    this.site = site;
  }

  /** Where the data folder is seen from here; differs when the process has mounts of its own. */
  dataPath(...path: string[]): string {
    return join(this.site.data, ...path);
  }

  /** Resolves when it serves. Fails with what it said when it ends instead. `byAnother`: a child of ours serves. */
  async running({ byAnother = false } = {}): Promise<this> {
    this.server = await until(`${this.site.data}/server.json is there`, async () => {
      if (this.hasEnded) return { pid: -1 } as RunningServer;
      const server = JSON.parse(await readFile(this.dataPath('server.json'), 'utf8')) as RunningServer;
      return (byAnother || server.pid === this.pid) && server;
    });
    if (this.server.pid === -1) {
      const { code, signal } = await this.ended;
      throw new Error(`railhead up ended with ${signal ?? code}:\n${this.output}`);
    }
    return this;
  }

  get url(): string {
    return this.server.url;
  }

  get httpsUrl(): string {
    return `https://127.0.0.1:${this.server.httpsPort}`;
  }

  token(): Promise<string> {
    return readFile(this.dataPath('keys', 'admin-token'), 'utf8').then((text) => text.trim());
  }

  async ask(path: string, options: RequestOptions = {}): Promise<Answer> {
    return ask(`${this.url}${path}`, options);
  }

  async json<T>(path: string): Promise<T> {
    return JSON.parse((await this.ask(path)).body) as T;
  }

  async readyz(): Promise<Readiness & { status: number }> {
    const { status, body } = await this.ask('/readyz');
    return { status, ...(JSON.parse(body) as Readiness) };
  }

  events(query = 'limit=1000'): Promise<Event[]> {
    return this.json(`/api/v1/events?${query}`);
  }

  /** Runs a command on this appliance's data folder. */
  cli(...args: string[]): Promise<Ended> {
    return railhead(args, { cwd: this.site.dir, env: siteEnv(this.site) });
  }

  /** SIGTERM, and that it ends well. */
  async stop(): Promise<Ended> {
    this.signal('SIGTERM');
    const ended = await this.ended;
    expect(ended, this.output).toMatchObject({ code: 0, signal: null });
    return ended;
  }

  /** What holds for every appliance, whatever was done to it. */
  async assertDiscreet(): Promise<void> {
    expect(this.output, 'no stack traces').not.toMatch(/\n {4}at /);
    const token = await this.token().catch(() => undefined);
    if (token !== undefined) expect(this.output, 'the admin token is in no output').not.toContain(token);
  }
}

/** Starts an appliance that ends with the test; returns when it serves. */
export async function startAppliance(options: ApplianceOptions = {}): Promise<Appliance> {
  return launchAppliance(await siteFor(options), options).running();
}

/** The same without waiting for it to serve. */
export function launchAppliance(site: Site, options: ApplianceOptions = {}): Appliance {
  const appliance = new Appliance(site, options);
  onTestFinished(async () => {
    await appliance.kill();
    await appliance.assertDiscreet();
  });
  return appliance;
}

async function siteFor({ data, inventory }: ApplianceOptions): Promise<Site> {
  if (data !== undefined && inventory !== undefined) return { dir: dirname(data), data, inventory };
  const site = await newSite();
  return {
    ...site,
    ...(data === undefined ? {} : { data }),
    ...(inventory === undefined ? {} : { inventory }),
  };
}

/** One appliance for all tests of a file that only look at it. */
export function sharedAppliance(options: ApplianceOptions = {}): () => Appliance {
  let appliance: Appliance | undefined;
  beforeAll(async () => {
    appliance = new Appliance(await makeSite(), options);
    await appliance.running();
  });
  afterAll(async () => {
    if (appliance === undefined) return;
    await appliance.kill();
    await appliance.assertDiscreet();
    await rm(appliance.site.dir, { recursive: true, force: true });
  });
  return () => appliance!;
}

/** One request on a connection of its own. */
export function ask(
  url: string,
  { method = 'GET', headers = {}, body, ca }: RequestOptions & { ca?: string } = {},
): Promise<Answer> {
  const request = url.startsWith('https:') ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { method, headers, agent: false, ...(ca === undefined ? {} : { ca }) });
    outgoing.on('error', reject);
    outgoing.on('response', (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('error', reject);
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          body: Buffer.concat(chunks).toString(),
        }),
      );
    });
    outgoing.end(body);
  });
}

/** Replaces a file as editors do: a new one, renamed over the old. */
export async function edit(
  site: Site,
  change: (text: string) => string,
  file = 'example.yaml',
): Promise<void> {
  const path = join(site.inventory, file);
  await writeFile(`${path}.tmp`, change(await readFile(path, 'utf8')));
  await rename(`${path}.tmp`, path);
}
