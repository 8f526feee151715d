import { ERROR_CODE, type Packet, type Request } from './codec.ts';
import { normaliseName } from './names.ts';
import { printable } from './peer.ts';
import type { Refusal } from './resolve.ts';

type Judged = { request: Request; file: string } | { file: string; refusal: Refusal };

/** Whether a request can be served at all, whatever files there are. Pure. */
export function judgeRequest(packet: Packet | undefined): Judged {
  if (packet?.type !== 'read' && packet?.type !== 'write') {
    return refused('', ERROR_CODE.illegalOperation, 'the request is malformed');
  }
  if (packet.type === 'write') {
    return refused(packet.filename, ERROR_CODE.accessViolation, 'this server is read-only');
  }
  if (packet.mode !== 'octet' && packet.mode !== 'netascii') {
    const reason = `the mode "${printable(packet.mode)}" is not served; use octet`;
    return refused(packet.filename, ERROR_CODE.illegalOperation, reason);
  }
  const named = normaliseName(packet.filename);
  if ('fault' in named) return refused(packet.filename, ERROR_CODE.accessViolation, named.fault);
  return { request: packet, file: named.name };
}

function refused(file: string, code: number, reason: string): Judged {
  return { file, refusal: { code, reason } };
}
