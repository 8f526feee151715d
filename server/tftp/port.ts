import type { Socket } from 'node:dgram';
import { RailheadError, systemCode } from '../errors.ts';
import { bindSocket } from './sockets.ts';

/** Where TFTP goes when the right to the real port is missing, so that the rest can be tried. */
export const UNPRIVILEGED_TFTP_PORT = 6969;

export interface TftpPort {
  socket: Socket;
  port: number;
  /** Why it is not the port that was asked for, and what to do; `undefined` when it is. */
  note?: string;
}

/** Binds the TFTP port; without the right to it, binds 6969 and says how to get the right. */
export async function bindTftpPort(bind: string, port: number, nodeBinary: string): Promise<TftpPort> {
  try {
    return await bindUdp(bind, port);
  } catch (error) {
    if (systemCode(error) !== 'EACCES') throw explain(error, bind, port);
    const note =
      `No right to UDP port ${port}; TFTP is on ${UNPRIVILEGED_TFTP_PORT} for now, where firmware won't look. ` +
      `Grant it with: sudo setcap cap_net_bind_service=+ep ${nodeBinary}`;
    try {
      return { ...(await bindUdp(bind, UNPRIVILEGED_TFTP_PORT)), note };
    } catch (second) {
      throw explain(second, bind, UNPRIVILEGED_TFTP_PORT);
    }
  }
}

async function bindUdp(address: string, port: number): Promise<TftpPort> {
  const socket = await bindSocket(address, port);
  return { socket, port: socket.address().port };
}

function explain(error: unknown, bind: string, port: number): unknown {
  switch (systemCode(error)) {
    case 'EADDRINUSE':
      return new RailheadError('RH_PORT_UNUSABLE', `Another program uses UDP port ${port} (TFTP).`, {
        hint: `Find it with \`ss -lunp 'sport = :${port}'\` and stop it, or choose another port with --tftp-port.`,
        cause: error,
      });
    case 'EADDRNOTAVAIL':
      return new RailheadError('RH_PORT_UNUSABLE', `This machine has no address ${bind} to listen on.`, {
        hint: 'Set --bind to one of its addresses, or to 0.0.0.0 for all.',
        cause: error,
      });
    default:
      return error;
  }
}
