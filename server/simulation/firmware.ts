import { swapUuid } from '../inventory/uuid.ts';
import type { SimulatedHost } from './hosts.ts';
import { readIpxe } from './ipxe-script.ts';
import type { ReadMenu } from './menu.ts';
import type { Network } from './network.ts';
import type { Pace } from './pace.ts';
import { readPxelinux } from './pxelinux-menu.ts';
import type { AskedTerms } from './tftp-download.ts';
import { Fault, persist } from './trouble.ts';

/** What each of them asks for in a TFTP request. */
const TERMS = {
  biosRom: { wantsSize: true, blockSize: 1456 },
  edk2: { wantsSize: true, blockSize: 1468, windowSize: 4 },
  pxelinux: { wantsSize: true, blockSize: 1408 },
  ipxe: { wantsSize: true, blockSize: 1432, windowSize: 8 },
} as const satisfies Record<string, AskedTerms>;

/** A few seconds between two tries: what boot loaders do. */
const RETRY_SECONDS = 4;
/** A script that chains to itself without end would keep a machine busy for ever. */
const MAX_CHAINED = 100;
/** How long a machine is told to wait at most, in all. */
const MAX_WAIT_MS = 180_000;

export interface FirmwareOptions {
  host: SimulatedHost;
  network: Network;
  pace: Pace;
  onPhase: (phase: 'loader' | 'menu' | 'waiting') => void;
  /** A file that the server lacks. Real firmware would stop here; we have no need for what is in it. */
  onMissing: (file: string) => void;
  onRetry: (reason: string) => void;
}

/** From power-on to the menu, as this kind of firmware and its boot loader go about it. */
export function findMenu(options: FirmwareOptions): Promise<ReadMenu> {
  return options.host.firmware === 'bios' ? viaPxelinux(options) : viaIpxe(options);
}

async function viaPxelinux({ host, network, ...options }: FirmwareOptions): Promise<ReadMenu> {
  options.onPhase('loader');
  await loaderFile('lpxelinux.0', TERMS.biosRom, { host, network, ...options });
  await loaderFile('ldlinux.c32', TERMS.pxelinux, { host, network, ...options });
  options.onPhase('menu');
  const names = [swapUuid(host.uuid), `01-${host.mac.replaceAll(':', '-')}`, 'default'];
  for (const name of names) {
    const file = `pxelinux.cfg/${name}`;
    const text = await persist(file, () => network.tftpText(file, TERMS.pxelinux), retrying(options));
    if (text !== undefined) return readPxelinux(text);
  }
  throw new Fault('there is no menu for it by TFTP');
}

async function viaIpxe(options: FirmwareOptions): Promise<ReadMenu> {
  const { host, network, pace } = options;
  options.onPhase('loader');
  if (host.firmware === 'uefi-ipxe') await loaderFile('snponly.efi', TERMS.edk2, options);
  else await loaderFile('undionly.kpxe', TERMS.biosRom, options);
  const script = 'autoexec.ipxe';
  const first = await persist(script, () => network.tftpText(script, TERMS.ipxe), retrying(options));
  if (first === undefined) throw new Fault(`there is no ${script} by TFTP`);
  const settings = {
    'netX/mac': host.mac,
    uuid: host.uuid,
    serial: '',
    manufacturer: 'Railhead simulation',
    platform: host.firmware === 'uefi-ipxe' ? 'efi' : 'pcbios',
  };
  options.onPhase('menu');
  let menu = readIpxe(first, settings);
  const since = performance.now();
  for (let chained = 0; menu.order.do === 'chain'; chained++) {
    const { url, afterSeconds } = menu.order;
    if (chained > MAX_CHAINED || performance.now() - since > MAX_WAIT_MS)
      throw new Fault(`it waits: ${menu.title}`);
    if (afterSeconds > 0) {
      options.onPhase('waiting');
      await pace.pauseBeforeRetry(afterSeconds);
    }
    const text = await persist('the menu', () => network.httpText(url), retrying(options));
    menu = readIpxe(text.toString('utf8'), settings);
  }
  return menu;
}

async function loaderFile(file: string, terms: AskedTerms, options: FirmwareOptions): Promise<void> {
  const isThere = await persist(file, () => options.network.tftpFile(file, terms), retrying(options));
  if (!isThere) options.onMissing(file);
}

function retrying({
  pace,
  onRetry,
}: Pick<FirmwareOptions, 'pace' | 'onRetry'>): Parameters<typeof persist>[2] {
  return { pace, seconds: RETRY_SECONDS, onRetry };
}
