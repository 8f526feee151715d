import { insertWindow, liveMachine, openWindow, updateWindow, type WindowRow } from '../store/machines.ts';
import type { Db } from '../store/store.ts';
import type { WindowReason } from './decide-registration.ts';

/** A window that nobody has used for this long is closed. */
export const WINDOW_MS = 24 * 3_600_000;

/** How long ago something was, in milliseconds. */
export type AgeOf = (at: number) => number;

/** The window of a host that is open and not expired. */
export async function currentWindow(db: Db, host: string, ageOf: AgeOf): Promise<WindowRow | undefined> {
  const window = await openWindow(db, host);
  if (window === undefined || window.machine !== null) return window;
  return ageOf(window.opened_at) < WINDOW_MS ? window : undefined;
}

/** Opens a window, in place of one that is open. */
export async function startWindow(
  db: Db,
  host: string,
  { reason, machine = null, now }: { reason: WindowReason; machine?: number | null; now: number },
): Promise<void> {
  await endWindow(db, host, 'replaced', now);
  await insertWindow(db, { host, reason, opened_at: now, machine, closed_at: null, outcome: null });
}

/** A host that has no identity boots: whichever machine registers first becomes it. */
export async function startWindowIfNew(db: Db, host: string, now: number, ageOf: AgeOf): Promise<void> {
  if ((await liveMachine(db, host)) !== undefined) return;
  const window = await currentWindow(db, host, ageOf);
  // One that was used belongs to an identity that is gone.
  if (window === undefined || window.machine !== null) {
    await startWindow(db, host, { reason: 'first boot', now });
  }
}

export async function endWindow(db: Db, host: string, outcome: string, now: number): Promise<void> {
  const window = await openWindow(db, host);
  if (window !== undefined) await updateWindow(db, window.id, { closed_at: now, outcome });
}
