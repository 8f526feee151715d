import { lookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { RailheadError } from '../errors.ts';
import { isLoopback } from '../net/advertise.ts';
import { httpFetch } from './http-fetch.ts';
import { type TftpServerAddress, tftpGet } from './tftp-client.ts';

/** How simulated machines reach the server. */
export interface Way {
  tftp: TftpServerAddress;
  /** The address that a machine speaks from, by its number, where each can have one of its own. */
  addressOf: ((index: number) => string) | undefined;
}

export interface WayInput {
  /** Where the API was reached. */
  apiUrl: string;
  /** What the server tells machines. */
  advertise: { url: string; address: string };
  tftpPort: number;
  /** Another place for TFTP, such as behind a port mapping. */
  tftp?: { host: string; port: number } | undefined;
  signal: AbortSignal;
}

/** Long enough for three requests. */
const PROBE_MS = 5000;
/** Always served, whatever is in the boot folder. */
const PROBE_FILE = 'autoexec.ipxe';

/**
 * Finds the way and tries it, before anything is changed. On the server's own machine every machine gets an address of
 * the loopback network, as real ones have addresses of their own: limits and logs of the server go by address.
 */
export async function findWay({ apiUrl, advertise, tftpPort, tftp, signal }: WayInput): Promise<Way> {
  const apiHost = new URL(apiUrl).hostname.replaceAll(/[[\]]/g, '');
  const isHere = tftp === undefined && isLoopback(apiHost);
  const wanted = tftp ?? { host: isHere ? apiHost : advertise.address, port: tftpPort };
  const server = { address: await toAddress(wanted.host), port: wanted.port };
  const probe = (localAddress?: string) => probeBoth(server, advertise.url, signal, localAddress);
  if (isHere && server.address.startsWith('127.')) {
    const fault = await probe(loopbackAddress(0));
    if (fault === undefined) return { tftp: server, addressOf: loopbackAddress };
  }
  const fault = await probe();
  if (fault !== undefined) throw fault;
  return { tftp: server, addressOf: undefined };
}

/** 127.82.0.1, 127.82.0.2 …: Linux has all of 127/8 without being told. */
function loopbackAddress(index: number): string {
  const number = index + 1;
  return `127.82.${number >> 8}.${number & 255}`;
}

async function toAddress(host: string): Promise<string> {
  if (isIP(host) !== 0) return host;
  try {
    return (await lookup(host)).address;
  } catch (error) {
    throw new RailheadError('RH_SERVER_ANSWER', `The server's name ${host} has no address.`, {
      hint: 'Say where its TFTP is with --tftp ADDRESS:PORT.',
      cause: error,
    });
  }
}

async function probeBoth(
  tftp: TftpServerAddress,
  url: string,
  signal: AbortSignal,
  localAddress?: string,
): Promise<RailheadError | undefined> {
  const options = () => ({
    localAddress,
    signal: AbortSignal.any([signal, AbortSignal.timeout(PROBE_MS)]),
    onBytes: () => {},
    keep: 0,
  });
  const where = `${tftp.address.includes(':') ? `[${tftp.address}]` : tftp.address}:${tftp.port}`;
  try {
    await tftpGet(tftp, PROBE_FILE, { ...options(), terms: {}, isLost: () => false });
  } catch (cause) {
    return unreachable(`TFTP does not answer at ${where} (UDP).`, cause, signal, {
      hint: 'Look at firewalls and port mappings, or say where it is with --tftp ADDRESS:PORT.',
    });
  }
  try {
    await httpFetch(`${url}/healthz`, options());
    return undefined;
  } catch (cause) {
    return unreachable(`${url}, which the server tells machines, does not answer.`, cause, signal, {
      hint: 'Start the server with --advertise URL, an address that can be reached from here.',
    });
  }
}

function unreachable(
  message: string,
  cause: unknown,
  signal: AbortSignal,
  extras: { hint: string },
): RailheadError {
  signal.throwIfAborted();
  return new RailheadError('RH_SERVER_ANSWER', message, { ...extras, cause });
}
