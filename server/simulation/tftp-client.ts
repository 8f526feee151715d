import { createSocket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import { parsePacket } from '../tftp/codec.ts';
import { type AskedTerms, Download, type DownloadEnding } from './tftp-download.ts';

export interface TftpServerAddress {
  address: string;
  port: number;
}

export interface TftpGetOptions {
  terms: AskedTerms;
  /** The machine's own address, where it has one. */
  localAddress?: string | undefined;
  /** Whether a datagram, in either direction, is lost. */
  isLost: () => boolean;
  signal: AbortSignal;
  onBytes: (count: number) => void;
  /** How many bytes of the file are kept; the rest is only counted. */
  keep: number;
}

export interface TftpGot {
  ending: DownloadEnding;
  kept: Buffer;
  retransmits: number;
}

/** Fetches one file over a socket of its own. Rejects only when it is told to stop or has no socket. */
export function tftpGet(server: TftpServerAddress, file: string, options: TftpGetOptions): Promise<TftpGot> {
  const { terms, localAddress, isLost, signal, onBytes, keep } = options;
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const socket = createSocket({
      type: isIPv6(server.address) ? 'udp6' : 'udp4',
      // Always an address: there is nothing to look up.
      lookup: (host, _options, done) => done(null, host, isIPv6(host) ? 6 : 4),
    });
    const kept: Buffer[] = [];
    let room = keep;
    /** The port that the transfer comes from is known; before, the service is asked. */
    let isConnected = false;
    let timer: NodeJS.Timeout | undefined;
    const close = (): void => {
      clearTimeout(timer);
      timer = undefined;
      signal.removeEventListener('abort', onAbort);
      socket.close();
    };
    const onAbort = (): void => {
      close();
      reject(signal.reason);
    };
    const download = new Download({
      file,
      terms,
      now: () => performance.now(),
      send: (bytes) => {
        if (isLost()) return;
        if (isConnected) socket.send(bytes, () => {});
        else socket.send(bytes, server.port, server.address, () => {});
      },
      onData: (payload) => {
        onBytes(payload.length);
        if (room <= 0) return;
        kept.push(Buffer.from(payload.subarray(0, room)));
        room -= payload.length;
      },
      onEnd: (ending) => {
        close();
        resolve({ ending, kept: Buffer.concat(kept), retransmits: download.retransmits });
      },
    });
    const tick = (): void => {
      download.onTick();
      if (timer !== undefined) timer = setTimeout(tick, download.due);
    };
    socket.on('message', (message, sender) => {
      if (isLost()) return;
      const packet = parsePacket(message);
      // A refusal comes from the port that was asked, and starts no transfer.
      if (!isConnected && (packet?.type === 'data' || packet?.type === 'oack')) {
        // From now on strangers are not heard, and a server that has died is noticed: its system says so.
        socket.connect(sender.port, sender.address);
        isConnected = true;
      }
      download.onPacket(packet);
    });
    socket.on('error', (error) => {
      close();
      reject(error);
    });
    signal.addEventListener('abort', onAbort, { once: true });
    socket.bind({ port: 0, ...(localAddress === undefined ? {} : { address: localAddress }) }, () => {
      if (signal.aborted) return;
      download.start();
      timer = setTimeout(tick, download.due);
    });
  });
}
