import type { HostSpec } from '../inventory/model.ts';
import type { HostRecord } from '../machine/host-record.ts';

export interface DecideInput {
  host: HostSpec;
  record: HostRecord;
  /** Why its system can't be served now, such as an image that is not there yet. */
  unservable?: string | undefined;
  /** Attempts without progress after which it is held. */
  maxFailures: number;
  now: number;
}

/** What a machine gets now. */
export type Decision =
  /** Boot the installer, which writes to disk. */
  | { action: 'install'; why: string }
  /** Boot and run from RAM. */
  | { action: 'run'; why: string }
  /** Boot what is on its own disk. */
  | { action: 'local'; why: string }
  /** Ask again later: it would get something else then. */
  | { action: 'wait'; why: string; seconds: number }
  /** Stand still until a person has looked. */
  | { action: 'hold'; why: string };

const WAIT_SECONDS = 30;
const MAX_BACKOFF_SECONDS = 600;

/**
 * THE answer to "what does this host get now?", for every protocol. Nothing else decides, and nothing here changes
 * anything. In order: a hold beats all; then a machine that is done boots from disk; then what it is to run.
 */
export function decide({ host, record, unservable, maxFailures, now }: DecideInput): Decision {
  if (record.hold !== undefined) return { action: 'hold', why: record.hold.reason };

  const toDisk = host.os.install === 'disk';
  const wantsReinstall = record.reinstallAt !== undefined;
  if (toDisk && record.installedAt !== undefined && !wantsReinstall) {
    return { action: 'local', why: 'it is installed; `railhead reinstall` would install it anew' };
  }

  if (record.failures >= maxFailures) {
    if (toDisk || !record.everReady) {
      return { action: 'hold', why: `${record.failures} boot attempts in a row got nowhere` };
    }
    // A node that worked before must come back by itself, whatever was wrong with the network meanwhile.
    const rest = backOff(record, maxFailures, now);
    if (rest > 0)
      return {
        action: 'wait',
        why: `${record.failures} boot attempts got nowhere; trying again`,
        seconds: rest,
      };
  }

  if (!toDisk && !wantsReinstall && record.isRunning) {
    // It can't run and boot at once: this is another machine with its MAC, or it has restarted this moment.
    return {
      action: 'wait',
      why: 'its machine is running: it was heard of a moment ago',
      seconds: WAIT_SECONDS,
    };
  }
  if (unservable !== undefined) return { action: 'wait', why: unservable, seconds: WAIT_SECONDS };
  if (!toDisk) return { action: 'run', why: 'it runs from RAM' };
  return {
    action: 'install',
    why: wantsReinstall ? 'a new installation was asked for' : 'it was never installed',
  };
}

/** Seconds to wait before the next attempt: doubled with each failure beyond the limit. */
function backOff({ failures, lastAttemptAt = 0 }: HostRecord, maxFailures: number, now: number): number {
  const pause = Math.min(MAX_BACKOFF_SECONDS, WAIT_SECONDS * 2 ** (failures - maxFailures));
  // A clock that was ahead must not make a host wait for it.
  if (lastAttemptAt > now) return 0;
  return Math.max(0, Math.ceil(pause - (now - lastAttemptAt) / 1000));
}
