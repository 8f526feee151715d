import { type Command, Option } from 'commander';
import { EXIT } from '../errors.ts';
import type { PipelineStatus, StepStatus } from '../pipeline/describe.ts';
import { connect, type ServerFlags, withServer } from './client.ts';
import { type CliIo, print, printJson } from './io.ts';
import { followLog, type LogPiece } from './pipeline-log.ts';
import { formatTable } from './table.ts';

/** pipeline run|status|retry|skip|logs: what is done to a cluster after its machines are installed. */
export function registerPipeline(program: Command, io: CliIo): void {
  const pipeline = program
    .command('pipeline')
    .description('Post-install steps of a cluster: network, certificates, Argo CD, your own');
  registerStatus(pipeline, io);
  registerRun(pipeline, io);
  registerRetry(pipeline, io);
  registerSkip(pipeline, io);
  registerLogs(pipeline, io);
}

const CLUSTER = 'Its name in the inventory';
const STEP = 'Such as install-core, or install-core:cilium for a part of it';

function registerStatus(pipeline: Command, io: CliIo): void {
  withServer(pipeline.command('status'))
    .description('Show how far the steps are')
    .argument('[CLUSTER]', `${CLUSTER}; default: all`)
    .argument('[STEP]', STEP)
    .option('--json', 'Print JSON: a list of steps')
    .action(async (cluster: string | undefined, step: string | undefined, flags) => {
      const client = await connect(io, flags);
      const found =
        cluster === undefined
          ? await client.get<PipelineStatus[]>('/api/v1/pipelines')
          : [await client.get<PipelineStatus>(pathOf(cluster))];
      const chosen = found.map((one) => ({ ...one, steps: one.steps.filter((each) => isOf(each, step)) }));
      if (flags.json) printJson(io.stdout, stepsOf(chosen));
      else for (const one of chosen) print(io.stdout, ...format(one));
      if (chosen.some(({ state }) => isBad(state))) io.setExitCode(EXIT.notRight);
    });
}

function registerRun(pipeline: Command, io: CliIo): void {
  withOrder(pipeline.command('run'))
    .description('Run the steps that are not done; with STEP, that one, also when it is done')
    .argument('<CLUSTER>', CLUSTER)
    .argument('[STEP]', STEP)
    .option('--anew', 'The cluster was made anew: forget what was done to the one before')
    .action(async (cluster: string, step: string | undefined, flags) =>
      order(io, flags, cluster, 'run', { ...withStep(step), ...(flags.anew ? { anew: true } : {}) }),
    );
}

function registerRetry(pipeline: Command, io: CliIo): void {
  withOrder(pipeline.command('retry'))
    .description('Run what has failed again, and what comes after it')
    .argument('<CLUSTER>', CLUSTER)
    .argument('[STEP]', STEP)
    .action(async (cluster: string, step: string | undefined, flags) =>
      order(io, flags, cluster, 'retry', withStep(step)),
    );
}

function registerSkip(pipeline: Command, io: CliIo): void {
  withServer(pipeline.command('skip'))
    .description('Take a step for done; one that runs is ended')
    .argument('<CLUSTER>', CLUSTER)
    .argument('<STEP>', STEP)
    .option('--json', 'Print JSON: a list of steps')
    .action(async (cluster: string, step: string, flags) => {
      const client = await connect(io, flags);
      const status = await client.post<PipelineStatus>(`${pathOf(cluster)}/skip`, { step });
      if (flags.json) printJson(io.stdout, stepsOf([status]));
      else print(io.stdout, ...format(status));
    });
}

function registerLogs(pipeline: Command, io: CliIo): void {
  withServer(pipeline.command('logs'))
    .description('Show what the steps said')
    .argument('<CLUSTER>', CLUSTER)
    .argument('[STEP]', STEP)
    .option('-f, --follow', 'Go on with what they say from now on')
    .option('--json', 'Print JSON; with --follow one object a line')
    .action(async (cluster: string, step: string | undefined, flags) => {
      const client = await connect(io, flags);
      const query = new URLSearchParams(withStep(step));
      const pieces = await client.get<LogPiece[]>(`${pathOf(cluster)}/logs?${query}`);
      if (flags.json && !flags.follow) return printJson(io.stdout, pieces);
      const show = (piece: LogPiece): unknown =>
        flags.json ? print(io.stdout, JSON.stringify(piece)) : io.stdout.write(piece.text);
      pieces.forEach(show);
      if (!flags.follow) return;
      io.onSignal(() => io.exit(EXIT.ok));
      const last = pieces.at(-1)?.id ?? 0;
      await followLog({
        connect: () => connect(io, flags),
        path: `${pathOf(cluster)}/logs/stream`,
        query,
        after: last,
        show,
        say: (text) => print(io.stderr, text),
        isOver: async () => false,
      });
    });
}

function withOrder(command: Command): Command {
  return withServer(command)
    .addOption(new Option('--no-wait', 'Only give the order'))
    .option('--json', 'Print JSON: a list of steps, when all is over');
}

/** Gives an order, then shows the log until the pipeline has nothing more to do, or can't go on. */
async function order(
  io: CliIo,
  flags: ServerFlags & { json?: boolean; wait?: boolean },
  cluster: string,
  what: 'run' | 'retry',
  body: Record<string, unknown>,
): Promise<void> {
  const client = await connect(io, flags);
  const before = await client.get<LogPiece[]>(`${pathOf(cluster)}/logs?limit=1`);
  let status = await client.post<PipelineStatus>(`${pathOf(cluster)}/${what}`, body);
  if (flags.wait !== false) {
    io.onSignal(() => {
      print(io.stderr, '', 'The server goes on; `npx railhead pipeline status` shows how far it is.');
      io.exit(EXIT.ok);
    });
    let said = '';
    await followLog({
      connect: () => connect(io, flags),
      path: `${pathOf(cluster)}/logs/stream`,
      query: new URLSearchParams(),
      after: before.at(-1)?.id ?? 0,
      show: (piece) => (flags.json ? undefined : io.stdout.write(piece.text)),
      say: (text) => print(io.stderr, text),
      isOver: async () => {
        status = await client.get<PipelineStatus>(pathOf(cluster));
        if (status.state === 'waiting' && status.summary !== said) print(io.stderr, status.summary);
        said = status.summary;
        return isOver(status);
      },
    });
  }
  if (flags.json) printJson(io.stdout, stepsOf([status]));
  else print(io.stdout, ...format(status));
  if (isBad(status.state)) io.setExitCode(EXIT.notRight);
}

/** Nothing that was ordered is left, or what is left waits for a person. */
function isOver({ state, steps }: PipelineStatus): boolean {
  if (isBad(state)) return true;
  return state !== 'running' && !steps.some(({ ordered, state: each }) => ordered || each === 'running');
}

function isBad(state: string): boolean {
  return state === 'failed' || state === 'refused';
}

function pathOf(cluster: string): string {
  return `/api/v1/clusters/${encodeURIComponent(cluster)}/pipeline`;
}

function withStep(step: string | undefined): { step?: string } {
  return step === undefined ? {} : { step };
}

function isOf({ name }: StepStatus, step: string | undefined): boolean {
  return step === undefined || name === step || name.startsWith(`${step}:`);
}

function stepsOf(found: readonly PipelineStatus[]): StepStatus[] {
  return found.flatMap(({ steps }) => steps);
}

function format({ name, state, summary, hosts, steps }: PipelineStatus): string[] {
  const rows = steps.map((step) => [
    step.name,
    step.state,
    step.startedAt?.replace('T', ' ').slice(0, 19) ?? '-',
    step.reason ?? '',
  ]);
  const missing = hosts.missing ? `, ${hosts.missing} of ${hosts.members} hosts are not Ready nodes` : '';
  return [
    `${name}: ${state} (${summary}${missing})`,
    formatTable(['step', 'state', 'last run', 'why'], rows),
  ];
}
