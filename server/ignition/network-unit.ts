import type { HostSpec } from '../inventory/model.ts';

/** For systemd-networkd; `undefined` for a host that uses DHCP. The card is the first of its MACs. */
export function networkUnit({ ip, network, macs }: HostSpec): string | undefined {
  const [mac] = macs;
  if (ip === undefined || network.prefixLength === undefined || mac === undefined) return undefined;
  return [
    '[Match]',
    `MACAddress=${mac}`,
    '',
    '[Network]',
    'DHCP=no',
    `Address=${ip}/${network.prefixLength}`,
    ...(network.gateway === undefined ? [] : [`Gateway=${network.gateway}`]),
    ...(network.dns ?? []).map((address) => `DNS=${address}`),
    ...(network.domains === undefined ? [] : [`Domains=${network.domains.join(' ')}`]),
    '',
  ].join('\n');
}
