import { didYouMean } from '../document/nearest.ts';
import { RailheadError } from '../errors.ts';
import type { EventLog } from '../events/log.ts';
import type { ClusterSpec, HostSpec, Inventory } from '../inventory/model.ts';
import type { Store } from '../store/store.ts';
import type { ClusterAccess } from './access.ts';
import type { SendSignal } from './child.ts';
import { Conductor, type Plan, type Timing } from './conductor.ts';
import type { ReadyStep } from './decide.ts';
import { type Defaults, readDefaults } from './defaults.ts';
import { describePipeline, type PipelineStatus } from './describe.ts';
import { fingerprint, type SecretReader } from './inputs.ts';
import { endLeftovers } from './leftovers.ts';
import { LogBook } from './log-book.ts';
import { type Order, stepsOfOrder } from './orders.ts';
import { type PlannedStep, planSteps } from './plan.ts';
import { Records } from './records.ts';
import type { RunFolders } from './run-folder.ts';
import { Scripts } from './scripts.ts';
import { StepRunner } from './step-runner.ts';
import type { Tools } from './tools.ts';

export interface PipelineOptions {
  store: Store;
  events: EventLog;
  now: () => number;
  inventory: () => Inventory;
  inventoryDir: string;
  /** Where a person's own steps are. */
  scriptsDir: string;
  /** For what a run needs and nobody else may see. Cleared at start. */
  folders: RunFolders;
  tools: Tools;
  /** See `baseEnvironment`. */
  env: Record<string, string>;
  access: ClusterAccess;
  readSecret: SecretReader;
  /** A keyed hash: see `FingerprintOptions`. */
  hash: (text: string) => string;
  sendSignal: SendSignal;
  onFault: (error: unknown) => void;
  timing?: Partial<Timing>;
}

/** The post-install pipelines of all clusters. */
export class PipelineService {
  readonly logs: LogBook;
  readonly #options: PipelineOptions;
  readonly #records: Records;
  readonly #runner: StepRunner;
  readonly #scripts: Scripts;
  readonly #defaults: Defaults;
  readonly #conductors = new Map<string, Conductor>();
  #unsubscribe: (() => void) | undefined;

  constructor(options: PipelineOptions) {
    this.#options = options;
    this.logs = new LogBook(options);
    this.#records = new Records(options);
    this.#scripts = new Scripts(options.scriptsDir);
    this.#defaults = readDefaults();
    this.#runner = new StepRunner({
      ...options,
      records: this.#records,
      logs: this.logs,
      scripts: this.#scripts,
    });
  }

  async start(): Promise<void> {
    const { events, sendSignal, folders, onFault } = this.#options;
    // First of all: what a killed appliance has left must not work beside what is started now.
    for (const { run } of await this.#records.closeOpenRuns()) await endLeftovers(run, sendSignal);
    await folders.clear();
    this.#follow();
    this.#unsubscribe = events.subscribe((event) => {
      const { kind } = event;
      // The next one of that name is another cluster, and nothing was done to it yet.
      if (kind === 'cluster.reinit') void this.#records.forget(event.data.cluster).catch(onFault);
      if (kind === 'inventory.activated') this.#follow();
      // Whatever is seen of machines and nodes may be what a step waits for.
      if (!kind.startsWith('pipeline.step-') && /^(pipeline|cluster|node|inventory)\./.test(kind))
        this.wake();
    });
  }

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    await Promise.all([...this.#conductors.values()].map((conductor) => conductor.stop()));
  }

  wake(): void {
    for (const conductor of this.#conductors.values()) conductor.wake();
  }

  async list(): Promise<PipelineStatus[]> {
    return Promise.all(this.#options.inventory().clusters.map(({ name }) => this.status(name)));
  }

  async status(wanted: string): Promise<PipelineStatus> {
    const cluster = this.#cluster(wanted);
    const { name } = cluster;
    const conductor = this.#conductors.get(name);
    const [records, runs] = await Promise.all([this.#records.of(name), this.#records.runs(name)]);
    return describePipeline({
      cluster: name,
      auto: cluster.pipeline?.auto ?? true,
      members: this.#members(cluster).length,
      steps: this.#ready(cluster),
      records,
      runs,
      look: conductor?.look,
      running: conductor?.running,
      now: this.#options.now(),
    });
  }

  /** Obeys a person, or says why not; nothing has begun when this returns. */
  async order(wanted: string, order: Order, step: string | undefined): Promise<PipelineStatus> {
    const cluster = this.#cluster(wanted);
    const conductor = this.#conductors.get(cluster.name);
    const input = {
      cluster: cluster.name,
      steps: this.#ready(cluster),
      records: await this.#records.of(cluster.name),
      running: conductor?.running,
    };
    const chosen = stepsOfOrder(input, order, step);
    if (order !== 'skip') await this.#assertTools(cluster, chosen);
    if (chosen.length > 0) await this.#records.order(cluster.name, order, chosen, step);
    if (order === 'skip') for (const name of chosen) conductor?.interrupt(name);
    conductor?.wake();
    return this.status(cluster.name);
  }

  /** Throws for a cluster that the inventory has not. */
  assertCluster(wanted: string): void {
    this.#cluster(wanted);
  }

  async #assertTools(cluster: ClusterSpec, chosen: readonly string[]): Promise<void> {
    const steps = this.#plan(cluster).filter(({ name }) => chosen.includes(name));
    for (const tool of new Set(steps.flatMap(({ tools }) => tools))) await this.#options.tools.get(tool);
  }

  /** Each cluster of the inventory has a conductor; those that it has no more stand still. */
  #follow(): void {
    for (const { name } of this.#options.inventory().clusters) {
      if (this.#conductors.has(name)) continue;
      const { access, now, onFault, timing } = this.#options;
      const conductor = new Conductor({
        cluster: name,
        plan: () => this.#planOf(name),
        inputsOf: (step) => this.#inputsOf(step),
        access,
        records: this.#records,
        runner: this.#runner,
        now,
        onFault,
        onStuck: (step, reason) =>
          void this.#options.events
            .append({ kind: 'pipeline.stuck', data: { cluster: name, step, reason } })
            .catch(onFault),
        ...(timing === undefined ? {} : { timing }),
      });
      this.#conductors.set(name, conductor);
      conductor.start();
    }
  }

  #planOf(name: string): Plan | undefined {
    const cluster = this.#options.inventory().clusters.find((one) => one.name === name);
    if (cluster === undefined) return undefined;
    return { steps: this.#plan(cluster), auto: cluster.pipeline?.auto ?? true };
  }

  #plan(cluster: ClusterSpec): PlannedStep[] {
    return planSteps({
      cluster,
      hosts: this.#options.inventory().hosts,
      defaults: this.#defaults,
      inventoryDir: this.#options.inventoryDir,
      script: (name) => this.#scripts.state(name),
    });
  }

  #ready(cluster: ClusterSpec): ReadyStep[] {
    return this.#plan(cluster).map((step) => ({ ...step, inputs: this.#inputsOf(step) }));
  }

  #inputsOf(step: PlannedStep): ReadyStep['inputs'] {
    if (step.notNeeded !== undefined || step.invalid !== undefined) return '';
    return fingerprint(step, {
      readSecret: this.#options.readSecret,
      ownScript: (name) => (this.#scripts.isBuiltIn(name) ? undefined : this.#scripts.path(name)),
      hash: this.#options.hash,
    });
  }

  #members(cluster: ClusterSpec): HostSpec[] {
    return this.#options.inventory().hosts.filter((host) => host.cluster === cluster.name && host.member);
  }

  #cluster(wanted: string): ClusterSpec {
    const { clusters } = this.#options.inventory();
    const found = clusters.find(({ name }) => name === wanted);
    if (found !== undefined) return found;
    const names = clusters.map(({ name }) => name);
    const known = names.length > 0 ? `; there is ${names.join(', ')}.` : '.';
    const guess = didYouMean(wanted, names) || known;
    throw new RailheadError('RH_CLUSTER_UNKNOWN', `There is no cluster "${wanted}"${guess}`);
  }
}
