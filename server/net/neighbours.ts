import { readFileSync } from 'node:fs';

/** Which card has an address, as the kernel knows it of the links it is attached to; `undefined` where it doesn't. */
export function neighbourMac(address: string): string | undefined {
  try {
    return parseArpTable(readFileSync('/proc/net/arp', 'utf8')).get(address);
  } catch {
    return undefined;
  }
}

/** Linux's table for IPv4. Entries that are not complete have a MAC of zeros. */
export function parseArpTable(table: string): Map<string, string> {
  const rows = table.split('\n').slice(1);
  return new Map(
    rows.flatMap((row): [string, string][] => {
      const [address, , flags, mac] = row.trim().split(/\s+/);
      const isComplete = (Number(flags) & 0x2) !== 0 && mac !== '00:00:00:00:00:00';
      return address === undefined || mac === undefined || !isComplete ? [] : [[address, mac.toLowerCase()]];
    }),
  );
}
