import { describeEvent } from '../events/describe.ts';
import type { Event } from '../events/kinds.ts';

/** An event as a line of a table. */
export function eventRow(event: Event) {
  return {
    id: event.id,
    time: new Date(event.at).toISOString().replace('T', ' ').slice(0, 19),
    kind: event.kind,
    host: event.host ?? '',
    text: describeEvent(event),
    bad: isBad(event),
  };
}

/** Worth a second look from across the room. */
function isBad(event: Event): boolean {
  switch (event.kind) {
    case 'tftp.transfer':
      return event.data.result === 'timeout' || event.data.result === 'client-error';
    case 'boot.stage':
      return event.data.stage === 'failed';
    case 'pipeline.step-failed':
    case 'pipeline.stuck':
    case 'inventory.rejected':
    case 'boot.ambiguous':
    case 'boot.held':
    case 'boot.loader-loop':
    case 'boot.token-refused':
    case 'boot.tls-failed':
    case 'ignition.failed':
    case 'agent.alarm':
    case 'boot.overdue':
    case 'boot.image-refused':
    case 'boot.menu-failed':
      return true;
    default:
      return false;
  }
}
