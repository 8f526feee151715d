import type { Command } from 'commander';
import { RailheadError } from '../errors.ts';
import { describeEvent } from '../events/describe.ts';
import type { Event } from '../events/kinds.ts';
import { connect, type ServerFlags, withServer } from './client.ts';
import { type CliIo, print, printJson } from './io.ts';
import { readEventStream } from './read-event-stream.ts';

export function registerEvents(program: Command, io: CliIo): void {
  withServer(program.command('events'))
    .description('Show what happened')
    .option('-f, --follow', 'Go on with what happens from now on')
    .option('-n, --limit <N>', 'How many of the newest to show', '50')
    .option('--host <HOST>', 'Only of this host')
    .option('--kind <KIND>', 'Only of this kind, such as inventory.activated')
    .option('--json', 'Print JSON; with --follow one object a line')
    .action(async (flags) => {
      if (!/^[1-9]\d{0,3}$/.test(flags.limit) || Number(flags.limit) > 1000) {
        throw new RailheadError(
          'RH_USAGE',
          `--limit: expected a number from 1 to 1000, got "${flags.limit}"`,
        );
      }
      const client = await connect(io, flags);
      const query = new URLSearchParams({ limit: flags.limit });
      if (flags.host !== undefined) query.set('host', flags.host);
      if (flags.kind !== undefined) query.set('kind', flags.kind);
      const events = await client.get<Event[]>(`/api/v1/events?${query}`);
      if (flags.json && !flags.follow) return printJson(io.stdout, events.map(named));
      const show = (event: Event): void =>
        print(io.stdout, flags.json ? JSON.stringify(named(event)) : formatEvent(event));
      events.forEach(show);
      if (flags.follow) await follow(io, flags, query, events.at(-1)?.id ?? 0, show);
    });
}

/** Every list has names: an event's is its number. */
function named(event: Event): Event & { name: string } {
  return { name: String(event.id), ...event };
}

export function formatEvent(event: Event): string {
  const host = event.host === undefined ? '' : `${event.host}: `;
  return `${new Date(event.at).toISOString()}  ${event.kind.padEnd(20)} ${host}${describeEvent(event)}`;
}

const RETRY_MS = 1000;

/** Until Ctrl+C. A server that restarts is found again, and nothing in between is missed. */
async function follow(
  io: CliIo,
  flags: ServerFlags,
  query: URLSearchParams,
  last: number,
  show: (event: Event) => void,
): Promise<void> {
  io.onSignal(() => io.exit(0));
  query.delete('limit');
  let after = last;
  let said = '';
  const sayOnce = (text: string): void => {
    if (text !== said) print(io.stderr, text);
    said = text;
  };
  for (;;) {
    query.set('after', String(after));
    try {
      // Looked for every time: a server that was told to take any free port comes back on another one.
      const client = await connect(io, flags);
      for await (const event of readEventStream<Event>(
        await client.stream(`/api/v1/events/stream?${query}`),
      )) {
        after = event.id;
        said = '';
        show(event);
      }
      sayOnce('The server closed the connection; trying again …');
    } catch (error) {
      if (!(error instanceof Error) || isRefusal(error)) throw error;
      sayOnce(`${error.message} Trying again …`);
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
  }
}

/** Asking again would be answered the same. */
function isRefusal(error: Error): boolean {
  return error instanceof RailheadError && error.status >= 400 && error.status < 500;
}
