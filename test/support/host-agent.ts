import { setTimeout as sleep } from 'node:timers/promises';
import { AGENT_ALIVE_MS } from '../../server/machine/host-record.ts';
import type { Lab } from './lab.ts';
import { until } from './poll.ts';

/** In place of the host's agent, as if it ran until another machine with its MAC is told to wait, and no longer. */
export async function speakUntilWaiting(lab: Lab, host: string): Promise<void> {
  const isToldToWait = async (): Promise<boolean> => {
    setLastHeard(lab, host, Date.now());
    await sleep(500);
    return (await lab.events()).some((event) => event.kind === 'boot.waiting' && event.host === host);
  };
  await until(`${host} is told to wait`, isToldToWait, 90_000);
  fallSilent(lab, host);
}

/** As if the host had been off for so long that it may boot again. */
export function fallSilent(lab: Lab, host: string): void {
  setLastHeard(lab, host, Date.now() - AGENT_ALIVE_MS);
}

function setLastHeard(lab: Lab, host: string, at: number): void {
  const heard = 'update agents set last_seen = ? where host = ? and revoked_at is null';
  lab.database((db) => db.prepare(heard).run(at, host));
}
