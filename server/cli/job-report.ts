import type { FileState, JobFile, JobStatus } from '../assets/job.ts';
import { formatBytes, formatSeconds } from './bytes.ts';

const BAR_WIDTH = 24;
const SHOWN_WIDTH = 46;

/** A job as bars, one line a file that is under way and one for all; for a terminal. Pure. */
export function barsOf(status: JobStatus): string[] {
  const active = status.files.filter(({ state }) => state === 'fetching' || state === 'verifying');
  return [...active.map(barOf), totalOf(status)];
}

function barOf({ name, state, bytes, size }: JobFile): string {
  const amount =
    state === 'verifying'
      ? 'verifying'
      : `${formatBytes(bytes)} of ${size === null ? '?' : formatBytes(size)}`;
  return `${shorten(name).padEnd(SHOWN_WIDTH)} ${bar(bytes, size)} ${amount}`;
}

function bar(bytes: number, size: number | null): string {
  const share = size === null || size === 0 ? 0 : Math.min(1, bytes / size);
  const filled = Math.round(share * BAR_WIDTH);
  return `[${'#'.repeat(filled)}${'.'.repeat(BAR_WIDTH - filled)}] ${String(Math.floor(share * 100)).padStart(3)} %`;
}

/** All together, in one line. */
export function totalOf({ files, bytes, size, rate, etaSeconds }: JobStatus): string {
  const count = (state: FileState) => files.filter((file) => file.state === state).length;
  const speed = rate > 0 ? `, ${formatBytes(rate)}/s` : '';
  const eta = etaSeconds === null ? '' : `, ${formatSeconds(etaSeconds)} left`;
  const failed = count('failed') === 0 ? '' : `, ${count('failed')} failed`;
  const done = count('there') + count('added');
  return `${done} of ${files.length} files${failed}, ${formatBytes(bytes)} of ${formatBytes(size)}${speed}${eta}`;
}

/** One line for a file that has come to a new state; for logs and pipes. */
export function lineOf({ name, state, size, reason, bytes }: JobFile): string {
  const amount = size === null ? '' : ` (${formatBytes(size)})`;
  switch (state) {
    case 'fetching':
      return `fetching   ${name}${amount}${bytes > 0 ? `, from ${formatBytes(bytes)} on` : ''}`;
    case 'failed':
      return `failed     ${name}: ${reason ?? 'for an unknown reason'}`;
    default:
      return `${state.padEnd(10)} ${name}${amount}`;
  }
}

/** How it ended. */
export function endOf({ job, state, files, fetched, reason, startedAt, endedAt }: JobStatus): string {
  const count = (wanted: FileState) => files.filter((file) => file.state === wanted).length;
  const seconds = endedAt === null ? 0 : (Date.parse(endedAt) - Date.parse(startedAt)) / 1000;
  const counts = `${count('there')} there, ${count('added')} new, ${count('failed')} failed`;
  const why = reason === null ? '' : `\n${reason}`;
  return `${job} ${state}: ${counts}; ${formatBytes(fetched)} fetched in ${seconds.toFixed(1)} s.${why}`;
}

function shorten(name: string): string {
  return name.length <= SHOWN_WIDTH ? name : `…${name.slice(1 - SHOWN_WIDTH)}`;
}
