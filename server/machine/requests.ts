import type { EventLog } from '../events/log.ts';
import type { HostSpec } from '../inventory/model.ts';
import { liveAttempts, updateAttempt } from '../store/attempts.ts';
import { endFirstBoots } from '../store/first-boots.ts';
import { findHostRow, updateHostRow } from '../store/hosts.ts';
import { liveMachine } from '../store/machines.ts';
import { initialState } from './host-state.ts';
import { startWindow } from './windows.ts';

/** What a person can order for a host. */
export type Order =
  /** Install it anew at its next boot. */
  | { order: 'reinstall' }
  /** Let it boot nothing but its own disk until it is released. */
  | { order: 'hold'; reason: string }
  /** Undo a hold, whoever made it, and forget the attempts that failed. */
  | { order: 'release' };

/** States of a machine that runs: a request is about its next boot, and changes nothing of it. */
const RUNNING = new Set(['booted', 'initialized', 'bootstrapping', 'joined', 'ready']);

export async function giveOrder(events: EventLog, host: HostSpec, order: Order, now: number): Promise<void> {
  await events.transact(async (db) => {
    const initial = { state: initialState(host), now };
    const isRunning = RUNNING.has((await findHostRow(db, host.name))?.state ?? '');
    switch (order.order) {
      case 'reinstall':
        await updateHostRow(db, host.name, { reinstall_at: now, failures: 0 }, initial);
        await endFirstBoots(db, host.name, now);
        await startWindow(db, host.name, { reason: 'reinstall', now });
        break;
      case 'hold': {
        const state = isRunning ? {} : { state: 'quarantined', state_since: now };
        const hold = { hold_reason: order.reason, hold_since: now };
        await updateHostRow(db, host.name, { ...hold, ...state }, initial);
        break;
      }
      case 'release': {
        const state = isRunning ? {} : { state: initialState(host), state_since: now };
        await updateHostRow(
          db,
          host.name,
          { hold_reason: null, hold_since: null, failures: 0, ...state },
          initial,
        );
        const { attempt: own } = (await liveMachine(db, host.name)) ?? {};
        for (const { token } of await liveAttempts(db, host.name)) {
          if (token === own) continue;
          await updateAttempt(db, token, { closed_at: now, outcome: 'released' });
        }
        break;
      }
    }
    const reason = order.order === 'hold' ? { reason: order.reason } : {};
    return [{ kind: 'host.ordered', host: host.name, data: { order: order.order, ...reason } }];
  });
}
