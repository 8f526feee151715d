import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { createServer, type ListenOptions, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import Database from 'better-sqlite3';
import { afterAll, beforeAll, test, vi } from 'vitest';
import type { Event } from '../../server/events/kinds.ts';
import { idOf, shortId } from '../../server/machine/attempts.ts';
import { INITRD, KERNEL } from '../../server/netboot/images.ts';
import { Appliance, type Ended, NODE, type Site, Started, siteEnv } from './appliance.ts';
import { isReady, LabNetwork, SERVER, TAPS } from './lab-network.ts';
import { startForward, startTamperingRelay, type Tamper } from './lab-relay.ts';
import type { LabTools } from './lab-tools.ts';
import { cardsOf, Machine, type MachineEnd, type MachineSpec } from './machine.ts';
import { until } from './poll.ts';

vi.setConfig({ testTimeout: 420_000, hookTimeout: 900_000 });

const HTTP_PORT = 8080;
const HTTPS_PORT = 8443;
/** Each keeps a core busy. */
const MACHINES_AT_ONCE = 2;
const IMAGE = 'flatcar/stable/amd64-usr/4593.2.5';

/** What an installer asks for; nothing here looks into it. */
const INSTALLED = ['flatcar_production_image.bin.bz2', 'flatcar_production_image.bin.bz2.sig'];

/**
 * From one place to another, as Node spells them. Tests are outside of the lab's network; sockets that are files are
 * seen from both sides.
 */
const RELAY = `
const { createServer, connect } = require('node:net');
const [from, to] = process.argv.slice(1).map(JSON.parse);
createServer((near) => {
  const far = connect(to);
  for (const socket of [near, far]) socket.on('error', () => { near.destroy(); far.destroy(); });
  near.pipe(far).pipe(near);
}).listen(from, () => console.log('ready'));
`;

export interface LabOptions {
  tools: LabTools;
  /** The hosts, as in an inventory file; they are in the pools `ram` and `disk`. */
  hosts: string;
  /** Another inventory file, for clusters and more pools. */
  inventory?: string;
  /** Lines for dnsmasq, stronger than those that the product advises. */
  dhcp?: readonly string[];
  /** In place of the guest's own one. */
  initrd?: string;
  /** More settings for the server. */
  env?: Record<string, string>;
}

/** What came of one power-on. */
export interface Boot {
  end: MachineEnd;
  /** All since it was switched on, also those of others that were on at the same time. */
  events: Event[];
  /** Those that DHCP gave it. */
  addresses: string[];
  /** Of the boot that it was in, by the token on its own command line: whatever the product takes it for. */
  attempt: string | undefined;
  serial: string;
  seconds: number;
  /** All there is to find out what went wrong. */
  story: string;
}

/** Switches a machine on and waits until it is off. */
export type BootMachine = (
  spec: MachineSpec,
  meanwhile?: (machine: Machine) => Promise<void>,
) => Promise<Boot>;

/** A private network with the product, a DHCP server that was set up as the product says, and machines. */
export class Lab {
  appliance!: Appliance;
  readonly #options: LabOptions;
  readonly #site: Site;
  readonly #relay: string;
  readonly #interposed: Server[] = [];
  #network: LabNetwork | undefined;
  readonly #freeTaps = [...TAPS];
  readonly #waiting: (() => void)[] = [];
  #machines = 0;
  #dhcpLog = '';

  static async start(options: LabOptions): Promise<Lab> {
    const dir = await mkdtemp(join(tmpdir(), 'railhead-lab-'));
    const lab = new Lab(options, { dir, data: join(dir, 'data'), inventory: join(dir, 'inventory') });
    try {
      await lab.#start();
      return lab;
    } catch (error) {
      await lab.stop();
      throw error;
    }
  }

  private constructor(options: LabOptions, site: Site) {
    this.#options = options;
    this.#site = site;
    this.#relay = join(site.dir, 'relay.sock');
  }

  /** Starts the server, again if it was killed. */
  async startServer(): Promise<void> {
    const env = {
      RAILHEAD_BIND: SERVER,
      RAILHEAD_HTTP_PORT: String(HTTP_PORT),
      RAILHEAD_HTTPS_PORT: String(HTTPS_PORT),
      RAILHEAD_TFTP_PORT: '69',
      RAILHEAD_BOOT: this.#options.tools.bootDir,
      ...this.#options.env,
    };
    this.appliance = new Appliance(this.#site, { through: this.through, env });
    await this.appliance.running();
  }

  /** A machine that hangs is given a second chance, and said so. More than two wait for each other. */
  readonly boot: BootMachine = async (spec, meanwhile) => {
    if (this.#machines >= MACHINES_AT_ONCE) await new Promise<void>((go) => this.#waiting.push(go));
    else this.#machines++;
    try {
      return await this.#bootOnce(spec, meanwhile).catch((error: Error) => {
        console.warn(`SECOND TRY, because the first one failed: ${error.message}`);
        return this.#bootOnce(spec, meanwhile);
      });
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#machines--;
      else next();
    }
  };

  /** In order; the newest ones after the event with this number. */
  async events(after = 0): Promise<Event[]> {
    return JSON.parse(await this.get(`/api/v1/events?limit=1000&after=${after}`)) as Event[];
  }

  /** How large the files of the image are. */
  async imageSizes(): Promise<{ kernel: number; initrd: number }> {
    const [kernel, initrd] = await Promise.all(
      [KERNEL, INITRD].map(async (file) => (await stat(this.#image(file))).size),
    );
    return { kernel: kernel!, initrd: initrd! };
  }

  /** The most bytes of memory that the server ever had. */
  async mostMemory(): Promise<number> {
    const text = await readFile(`/proc/${this.appliance.server.pid}/status`, 'utf8');
    return Number(/^VmHWM:\s+(\d+) kB$/m.exec(text)?.[1]) * 1024;
  }

  get(path: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const outgoing = request({ socketPath: this.#relay, path, agent: false, headers: { host: SERVER } });
      outgoing.on('error', reject);
      outgoing.on('response', (response) => {
        let body = '';
        response.setEncoding('utf8').on('data', (chunk) => {
          body += chunk;
        });
        response.on('error', reject);
        response.on('end', () => {
          if (response.statusCode === 200) resolve(body);
          else reject(new Error(`${path}: ${response.statusCode} ${body}`));
        });
      });
      outgoing.end();
    });
  }

  /** Asks for a menu and the kernel in place of a machine, which then boots its guest at once (`kernelLine`). */
  async openBoot(mac: string): Promise<{ token: string; kernelLine: string }> {
    const menu = await this.get(`/boot.ipxe?mac=${mac}`);
    const found = /^kernel http:\/\/[^/]+(\/boot\/([\w-]+)\/kernel) initrd=\S+ (.+) \|\|/m.exec(menu);
    if (found === null) throw new Error(`no boot is offered to ${mac}:\n${menu}`);
    const [, kernel = '', token = '', kernelLine = ''] = found;
    await this.get(kernel);
    return { token, kernelLine };
  }

  /** Puts somebody between machines and the server: a kernel line whose URLs lead through them. */
  async interpose(kernelLine: string, tamper: Tamper): Promise<string> {
    const port = HTTP_PORT + 1 + this.#interposed.length;
    const socket = join(this.#site.dir, `interposed-${port}.sock`);
    this.#interposed.push(await startTamperingRelay(socket, this.#relay, tamper));
    await this.#startRelay({ host: SERVER, port }, { path: socket });
    return kernelLine.replaceAll(`${SERVER}:${HTTP_PORT}/`, `${SERVER}:${port}/`);
  }

  /** Lets whoever connects to this port of the server's machine reach a place outside of the lab. */
  async forward(port: number, to: { host: string; port: number }): Promise<void> {
    const socket = join(this.#site.dir, `forward-${port}.sock`);
    this.#interposed.push(await startForward(socket, to));
    await this.#startRelay({ host: SERVER, port }, { path: socket });
  }

  /** Does something to the server's database, behind its back. */
  database<T>(work: (db: Database.Database) => T): T {
    const db = new Database(join(this.#site.data, 'railhead.db'));
    try {
      return work(db);
    } finally {
      db.close();
    }
  }

  /** For a machine that keeps its disk. */
  newDisk(): string {
    return join(mkdtempSync(join(this.#site.dir, 'disk-')), 'disk.img');
  }

  /** Runs a command on the server's machine. */
  cli(...args: string[]): Promise<Ended> {
    return new Started(args, { cwd: this.#site.dir, env: siteEnv(this.#site), through: this.through }).ended;
  }

  async stop(): Promise<void> {
    await this.appliance?.kill();
    for (const server of this.#interposed) server.close();
    await this.#network?.end();
    await rm(this.#site.dir, { recursive: true, force: true });
  }

  async #start(): Promise<void> {
    const { tools, hosts, inventory, initrd = tools.guest.initrd } = this.#options;
    this.#network = await LabNetwork.start(this.#site.dir);
    await mkdir(this.#image('.'), { recursive: true });
    await copyFile(tools.guest.kernel, this.#image(KERNEL));
    await copyFile(initrd, this.#image(INITRD));
    for (const file of INSTALLED) await writeFile(this.#image(file), file);
    await mkdir(this.#site.inventory);
    await writeFile(join(this.#site.inventory, 'lab.yaml'), `${POOLS}hosts:\n${hosts}`);
    if (inventory !== undefined) await writeFile(join(this.#site.inventory, 'more.yaml'), inventory);
    await this.startServer();

    await this.#startRelay({ path: this.#relay }, { host: SERVER, port: HTTP_PORT });
    await this.#startDhcp();
  }

  async #startRelay(...places: [from: ListenOptions, to: ListenOptions]): Promise<void> {
    const relay = this.#spawn([NODE, '-e', RELAY, ...places.map((place) => JSON.stringify(place))]);
    await isReady(relay, 'the relay');
  }

  async #startDhcp(): Promise<void> {
    const { tools, dhcp = [] } = this.#options;
    const advice = await this.cli('dhcp', 'dnsmasq');
    if (advice.code !== 0) throw new Error(`railhead dhcp failed: ${advice.stderr}`);
    const lines = [
      // A DHCP server and nothing else.
      'port=0',
      'interface=br0',
      'bind-interfaces',
      'dhcp-authoritative',
      'user=root',
      'pid-file=',
      `dhcp-leasefile=${join(this.#site.dir, 'leases')}`,
      'dhcp-range=10.55.0.50,10.55.0.199,255.255.255.0,1h',
      // Without these, machines wait for seconds: for a ping of the address, and for an IPv6 router.
      'no-ping',
      'enable-ra',
      'dhcp-range=fd55::,ra-stateless,64,1h',
      advice.stdout,
      ...dhcp,
    ];
    const file = join(this.#site.dir, 'dnsmasq.conf');
    await writeFile(file, `${lines.join('\n')}\n`);
    const env = Object.entries(tools.dnsmasq.env).map(([name, value]) => `${name}=${value}`);
    const command = ['env', ...env, tools.dnsmasq.path, '--keep-in-foreground', '--log-facility=-'];
    const dnsmasq = this.#spawn([...command, `--conf-file=${file}`]);
    for (const stream of [dnsmasq.stdout, dnsmasq.stderr]) {
      stream?.on('data', (chunk) => {
        this.#dhcpLog += chunk;
      });
    }
    await until('dnsmasq has started', () => {
      if (dnsmasq.exitCode !== null) throw new Error(`dnsmasq ended: ${this.#dhcpLog}`);
      return this.#dhcpLog.includes('started');
    });
  }

  async #bootOnce(...[spec, meanwhile]: Parameters<BootMachine>): Promise<Boot> {
    const before = (await this.events()).at(-1)?.id ?? 0;
    const started = performance.now();
    const cards = cardsOf(spec);
    const taps = this.#freeTaps.splice(0, cards.length);
    const machine = new Machine(spec, {
      tools: this.#options.tools,
      through: this.through,
      taps,
      dir: mkdtempSync(join(this.#site.dir, 'machine-')),
    });
    try {
      await meanwhile?.(machine);
      const end = await machine.ended();
      const { serial } = machine;
      const token = /^GUEST: cmdline .*\/boot\/([\w-]{22})\//m.exec(serial)?.[1];
      return {
        end,
        events: await this.events(before),
        addresses: cards.flatMap((mac) => this.#addressesOf(mac)),
        attempt: token === undefined ? undefined : shortId(idOf(token)),
        serial,
        seconds: (performance.now() - started) / 1000,
        story: await this.#story(machine, before),
      };
    } catch (error) {
      throw new Error(`${(error as Error).message}\n${await this.#story(machine, before)}`, { cause: error });
    } finally {
      await machine.kill();
      this.#freeTaps.push(...taps);
    }
  }

  /** A boot loader and a guest may get one each. */
  #addressesOf(mac: string): string[] {
    return [...this.#dhcpLog.matchAll(/DHCPACK\(\S+\) (\S+) (\S+)/g)].flatMap(([, address = '', to]) =>
      to === mac ? [address] : [],
    );
  }

  async #story(machine: Machine, before: number): Promise<string> {
    const events = await this.events(before).catch((error: Error) => [error.message]);
    return [
      `--- DHCP:\n${tail(this.#dhcpLog, 60)}`,
      `--- server:\n${tail(this.appliance.output, 30)}`,
      `--- events:\n${events.map((event) => JSON.stringify(event)).join('\n')}`,
      `--- the machine's serial line:\n${tail(machine.serial, 80)}`,
    ].join('\n');
  }

  #image(file: string): string {
    return join(this.#site.dir, 'assets', IMAGE, file);
  }

  /** Starts a program in the lab's network; it ends when this process does. */
  get through(): string[] {
    return this.#network!.through;
  }

  #spawn(command: readonly string[]): ChildProcess {
    const [program = '', ...args] = [...this.through, ...command];
    return spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  }
}

/** On a busy machine a virtual timer looks broken to the kernel, which then gives up: at once, not for ever. */
const VIRTUAL = ['console=ttyS0', 'no_timer_check', 'panic=-1'];
/** What an installed system is booted with. */
export const FROM_DISK = VIRTUAL.join(' ');

const POOLS = `
profiles:
  - name: ram
    os: flatcar
    version: 4593.2.5
    kernelArguments: [${VIRTUAL.join(', ')}]
  - name: disk
    os: flatcar
    version: 4593.2.5
    install: disk
    kernelArguments: [${VIRTUAL.join(', ')}]
pools:
  - name: ram
    profile: ram
    identity: boot
  - name: disk
    profile: disk
`;

/**
 * One lab for all tests of a file; only one at a time on this machine, which has few cores. Returns `test` with the lab,
 * and with `boot`, which tells the whole story when the test fails.
 */
export function labTest(options: Omit<LabOptions, 'tools'> & { tools: LabTools | undefined }) {
  let lab: Lab | undefined;
  let turn: Server | undefined;
  beforeAll(async () => {
    if (options.tools === undefined) return;
    turn = await waitForTurn();
    lab = await Lab.start({ ...options, tools: options.tools });
  });
  afterAll(async () => {
    await lab?.stop();
    turn?.close();
  });
  return test.extend<{ lab: Lab; boot: BootMachine }>({
    // biome-ignore lint/correctness/noEmptyPattern: vitest insists on a pattern
    lab: ({}, use) => use(lab!),
    boot: ({ onTestFailed }, use) =>
      use(async (...args) => {
        const boot = await lab!.boot(...args);
        onTestFailed(() => console.error(boot.story));
        return boot;
      }),
  });
}

/** A name that only one process can have, and loses when it ends. */
async function waitForTurn(): Promise<Server> {
  for (;;) {
    const server = createServer();
    const taken = await new Promise<boolean>((resolve) => {
      server.once('error', () => resolve(true));
      server.listen('\0railhead-lab', () => resolve(false));
    });
    if (!taken) return server;
    await sleep(200);
  }
}

function tail(text: string, lines: number): string {
  return text.trimEnd().split('\n').slice(-lines).join('\n');
}
