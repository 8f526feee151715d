import { randomBytes } from 'node:crypto';
import { toRailheadError } from '../errors.ts';
import type { ClusterAccess } from './access.ts';
import { type ChildEnd, runChild, type SendSignal } from './child.ts';
import { afterFailure } from './decide.ts';
import { proxyPasswords, withoutProxyTo } from './environment.ts';
import { type Filled, fillSecrets, type SecretReader } from './inputs.ts';
import { foreignness, readKubeconfig } from './kubeconfig.ts';
import { askKubectl } from './kubectl.ts';
import { endLeftovers, RUN_VARIABLE } from './leftovers.ts';
import { Lines } from './lines.ts';
import type { LogBook, LogWriter } from './log-book.ts';
import type { PlannedStep, Tool } from './plan.ts';
import type { Begun, Records } from './records.ts';
import { Redactor } from './redact.ts';
import type { RunFolder, RunFolders } from './run-folder.ts';
import type { Scripts } from './scripts.ts';
import type { Tools } from './tools.ts';

export interface StepRunnerOptions {
  access: ClusterAccess;
  records: Records;
  logs: LogBook;
  folders: RunFolders;
  scripts: Scripts;
  tools: Tools;
  readSecret: SecretReader;
  /** What every program is started with: see `baseEnvironment`. */
  env: Record<string, string>;
  sendSignal: SendSignal;
  now: () => number;
}

export type RunRequest = Omit<Begun, 'run'>;

/** `not-yet`: nothing was begun, and it is tried again. `stopped`: cut off, to be resumed. */
export type Outcome = { result: 'done' | 'failed' | 'stopped' } | { result: 'not-yet'; why: string };

/** How much of its time a step may spend on one wait. */
const WAITING_SHARE = 0.8;

/** A kubeconfig outlasts the run it is for. */
const SPARE_SECONDS = 300;

/** Runs one step once: looks before it leaps, says what it does before it does it, and keeps what came of it. */
export class StepRunner {
  readonly #options: StepRunnerOptions;

  constructor(options: StepRunnerOptions) {
    this.#options = options;
  }

  async run(step: PlannedStep, request: RunRequest, signal: AbortSignal): Promise<Outcome> {
    const begun: Begun = { ...request, run: randomBytes(16).toString('hex') };
    return this.#options.folders.with(begun.run, async (folder) => {
      const prepared = await this.#prepare(step, begun, folder);
      if ('refused' in prepared) {
        await this.#options.records.refused(begun.cluster, begun.step, begun.inputs, prepared.refused);
        return { result: 'failed' };
      }
      if ('notYet' in prepared) return { result: 'not-yet', why: prepared.notYet };
      if (signal.aborted) return { result: 'stopped' };
      await this.#options.records.begin(begun);
      return this.#perform(step, begun, prepared, folder, signal);
    });
  }

  /** Everything that can be found wrong before the cluster is touched. */
  async #prepare(step: PlannedStep, begun: Begun, folder: RunFolder): Promise<Prepared> {
    const { access, records, tools, readSecret } = this.#options;
    const { cluster } = begun;
    try {
      const programs = await this.#programs(step.tools);
      const seconds = Math.ceil(step.timeoutMs / 1000) + SPARE_SECONDS;
      const text = await access.kubeconfigFor(cluster, { seconds });
      const kubeconfig = readKubeconfig(text);
      if ('fault' in kubeconfig) return { refused: kubeconfig.fault };
      const authorityPem = await access.authorityOf?.(cluster);
      const foreign = foreignness(kubeconfig, { cluster, authorityPem });
      if (foreign !== undefined) return { refused: foreign };
      const kubeconfigFile = await folder.put('kubeconfig', text);
      const env = withoutProxyTo(this.#options.env, kubeconfig.server);
      // Without kubectl only a person's own step gets here, which may do without.
      const kubectl = await tools.find('kubectl');
      const known = await records.uid(cluster);
      let uid = known;
      if (kubectl !== undefined) {
        uid = await askKubectl({ program: kubectl, kubeconfigFile, env }, ...ASK_UID);
        if (known !== undefined && known !== uid) return { refused: otherCluster(cluster, known, uid) };
        if (known === undefined) await records.noteUid(cluster, uid);
      }
      const filled = fillSecrets(step.files, readSecret);
      return {
        env,
        programs,
        kubeconfigFile,
        uid,
        filled,
        secrets: [...filled.secrets, ...kubeconfig.secrets, ...proxyPasswords(env)],
      };
    } catch (error) {
      const { code, message } = toRailheadError(error);
      return { notYet: code === 'RH_INTERNAL' && error instanceof Error ? error.message : message };
    }
  }

  async #programs(needed: readonly Tool[]): Promise<Record<string, string>> {
    const { tools } = this.#options;
    const found: Record<string, string> = {};
    for (const tool of ['kubectl', 'helm'] as const) {
      const path = needed.includes(tool) ? await tools.get(tool) : await tools.find(tool);
      if (path !== undefined) found[tool.toUpperCase()] = path;
    }
    return found;
  }

  async #perform(
    step: PlannedStep,
    begun: Begun,
    { env, programs, kubeconfigFile, uid, filled, secrets }: Ready,
    folder: RunFolder,
    signal: AbortSignal,
  ): Promise<Outcome> {
    const { logs, sendSignal, scripts, now } = this.#options;
    const log = logs.open(begun.cluster, begun.run);
    const redactor = new Redactor(secrets);
    const lines = new Lines(redactor, (line) => log.line(line));
    log.line(`${step.name}: attempt ${begun.attempt} (${begun.why}), at ${new Date(now()).toISOString()}`);
    const end = await runChild({
      program: scripts.path(step.script) ?? step.script,
      args: step.args,
      cwd: folder.dir,
      env: {
        ...env,
        ...step.env,
        ...programs,
        ...(await writeFiles(folder, filled)),
        KUBECONFIG: kubeconfigFile,
        TMPDIR: folder.dir,
        // Less than it has: so it can say itself what it waited for.
        WAIT_SECONDS: String(Math.ceil((step.timeoutMs / 1000) * WAITING_SHARE)),
        [RUN_VARIABLE]: begun.run,
        ...(uid === undefined ? {} : { RAILHEAD_CLUSTER_UID: uid }),
        ...(begun.resumed ? { RAILHEAD_RESUMED: '1' } : {}),
      },
      timeoutMs: step.timeoutMs,
      signal,
      sendSignal,
      onOutput: (chunk) => lines.write(chunk),
    });
    // Some programs leave their group.
    if (end.how !== 'exit') await endLeftovers(begun.run, sendSignal);
    lines.end();
    return this.#conclude(step, begun, end, log);
  }

  async #conclude(step: PlannedStep, begun: Begun, end: ChildEnd, log: LogWriter): Promise<Outcome> {
    const { records, now } = this.#options;
    const said = log.lastLine;
    if (end.how === 'stopped') {
      log.line('[stopped]');
      await log.close();
      await records.interrupted(begun);
      return { result: 'stopped' };
    }
    if (end.how === 'exit' && end.code === 0) {
      await log.close();
      await records.done(begun);
      return { result: 'done' };
    }
    const reason = reasonOf(end, step, said);
    log.line(`[${reason}]`);
    await log.close();
    const after = afterFailure(step, begun.attempt, now());
    await records.failed(begun, reason, after.state === 'retrying' ? after.retryAt : undefined);
    return { result: 'failed' };
  }
}

interface Ready {
  env: Record<string, string>;
  programs: Record<string, string>;
  kubeconfigFile: string;
  uid: string | undefined;
  filled: Filled;
  secrets: string[];
}

type Prepared = Ready | { refused: string } | { notYet: string };

const ASK_UID = ['get', 'namespace', 'kube-system', '-o', 'jsonpath={.metadata.uid}'] as const;

function otherCluster(cluster: string, known: string, uid: string): string {
  return `the kubeconfig leads to another cluster: its id is ${uid}, that of ${cluster} was ${known}; if ${cluster} was made anew: \`railhead pipeline run ${cluster} --anew\``;
}

/** JSON is YAML. */
async function writeFiles(folder: RunFolder, { files }: Filled): Promise<Record<string, string>> {
  const written: Record<string, string> = {};
  for (const [variable, values] of Object.entries(files)) {
    written[variable] = await folder.put(`${variable.toLowerCase()}.yaml`, JSON.stringify(values));
  }
  return written;
}

const LONGEST_REASON = 500;

function reasonOf(end: Exclude<ChildEnd, { how: 'stopped' }>, step: PlannedStep, said: string): string {
  const words = said.slice(0, LONGEST_REASON);
  switch (end.how) {
    case 'timeout':
      return `it took longer than ${step.timeoutMs / 1000} s and was ended; it said last: ${words}`;
    case 'unstartable':
      return `${step.script} can't be started (${end.reason})`;
    case 'killed':
      return `${step.script} was ended by ${end.signal}; it said last: ${words}`;
    case 'exit':
      return `exit ${end.code}: ${words}`;
  }
}
