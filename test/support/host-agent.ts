import type { Lab } from './lab.ts';

/** As if the host had announced that it goes down: it may boot again at once. */
export function fallSilent(lab: Lab, host: string): void {
  const announced = 'update machines set rebooting_at = ? where host = ? and revoked_at is null';
  lab.database((db) => db.prepare(announced).run(Date.now(), host));
}
