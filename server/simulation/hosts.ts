import { createHash } from 'node:crypto';

/** How a machine finds its menu: as firmware and boot loaders of these kinds do. */
export type Firmware = 'bios' | 'uefi-ipxe' | 'bios-ipxe';

export type Install = 'ram' | 'disk';

/** A machine that is only pretended. */
export interface SimulatedHost {
  name: string;
  mac: string;
  /** What its firmware says; whether the inventory knows it is `knownByUuid`. */
  uuid: string;
  knownByUuid: boolean;
  firmware: Firmware;
}

export const MAX_SIMULATED_HOSTS = 5000;

/**
 * In turns, so that a handful of hosts shows every way. Those with pxelinux are known by their MAC alone, so they ask in
 * vain by their UUID first; and a server that puts two requests of one address together can't take one for another.
 */
const WAYS: readonly Pick<SimulatedHost, 'firmware' | 'knownByUuid'>[] = [
  { firmware: 'bios', knownByUuid: false },
  { firmware: 'uefi-ipxe', knownByUuid: true },
  { firmware: 'bios', knownByUuid: false },
  { firmware: 'bios-ipxe', knownByUuid: true },
];

/** The same hosts for the same number, every time. */
export function simulatedHosts(count: number): SimulatedHost[] {
  return Array.from({ length: count }, (_, index) => {
    const number = index + 1;
    const mac = macOf(number);
    return {
      name: `sim-${String(number).padStart(3, '0')}`,
      mac,
      uuid: uuidOf(mac),
      ...WAYS[index % WAYS.length]!,
    };
  });
}

/** Locally administered, with "RH" in it: no card is made with such an address. */
function macOf(number: number): string {
  const hex = number.toString(16).padStart(6, '0');
  return `02:52:48:${hex.match(/../g)!.join(':')}`;
}

function uuidOf(mac: string): string {
  const hex = createHash('sha256').update(`railhead simulate ${mac}`).digest('hex');
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-');
}
