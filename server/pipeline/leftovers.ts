import { readdir, readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { SendSignal } from './child.ts';

/** The variable that tells to which run a process belongs, and with it all that the process starts. */
export const RUN_VARIABLE = 'RAILHEAD_RUN';

const LOOKS = 20;
const BETWEEN_LOOKS_MS = 100;

/**
 * Ends what a run has left behind when the appliance was killed. Found by the run's name in the environment, not by
 * process ids: those may be somebody else's by now. Where there is no /proc, nothing is found.
 */
export async function endLeftovers(run: string, sendSignal: SendSignal): Promise<number> {
  let ended = 0;
  for (let look = 0; look < LOOKS; look++) {
    const pids = await processesOf(run);
    if (pids.length === 0) break;
    // Asked first: helm takes back its lock then.
    for (const pid of pids) sendSignal(pid, look < LOOKS / 2 ? 'SIGTERM' : 'SIGKILL');
    ended = Math.max(ended, pids.length);
    await sleep(BETWEEN_LOOKS_MS);
  }
  return ended;
}

export async function processesOf(run: string): Promise<number[]> {
  const names = await readdir('/proc').catch(() => []);
  const found = await Promise.all(
    names
      .filter((name) => /^\d+$/.test(name))
      .map(async (name) => {
        // That of another user can't be read, and is none of ours.
        const environment = await readFile(`/proc/${name}/environ`, 'latin1').catch(() => '');
        return environment.split('\0').includes(`${RUN_VARIABLE}=${run}`) ? [Number(name)] : [];
      }),
  );
  return found.flat();
}
