import type { JobStatus } from '../assets/job.ts';
import { EXIT } from '../errors.ts';
import type { Client } from './client.ts';
import { type CliIo, print, printJson } from './io.ts';
import { barsOf, endOf, lineOf } from './job-report.ts';

const POLL_MS = 250;

/** Shows a job of the server until it ends: bars on a terminal, lines elsewhere. Ctrl+C ends only the showing. */
export async function followJob(
  io: CliIo,
  client: Client,
  begun: JobStatus,
  { json = false }: { json?: boolean },
): Promise<void> {
  io.onSignal(() => {
    print(io.stderr, '', 'The server goes on; `npx railhead assets sync --stop` ends it.');
    io.exit(EXIT.ok);
  });
  const show = json ? () => {} : io.stdout.isTTY ? showBars(io) : showLines(io);
  let status = begun;
  show(status);
  while (status.state === 'running') {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    status = (await client.get<{ job: JobStatus }>('/api/v1/assets/job')).job;
    show(status);
  }
  if (json) printJson(io.stdout, status);
  else print(io.stdout, endOf(status));
  if (status.state !== 'done') io.setExitCode(EXIT.notRight);
}

function showLines(io: CliIo): (status: JobStatus) => void {
  const said = new Map<string, string>();
  return ({ files }) => {
    for (const file of files) {
      if (file.state === 'waiting' || said.get(file.name) === file.state) continue;
      said.set(file.name, file.state);
      print(io.stdout, lineOf(file));
    }
  };
}

/** Lines for what has ended, and below them bars that are drawn over and over. */
function showBars(io: CliIo): (status: JobStatus) => void {
  const said = new Set<string>();
  let drawn = 0;
  return (status) => {
    const news = status.files.filter(
      ({ name, state }) => (state === 'added' || state === 'failed') && !said.has(name),
    );
    for (const { name } of news) said.add(name);
    const bars = status.state === 'running' ? barsOf(status) : [];
    const up = drawn === 0 ? '' : `\u001b[${drawn}A`;
    const lines = [...news.map(lineOf), ...bars].map((line) => `${line}\u001b[K\n`);
    io.stdout.write(`${up}\u001b[J${lines.join('')}`);
    drawn = bars.length;
  };
}
