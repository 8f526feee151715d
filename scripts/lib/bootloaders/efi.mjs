/** As PE files name them. @type {Record<number, import('./table.mjs').Arch>} */
const MACHINES = { 34404: 'amd64', 43620: 'arm64' };

/**
 * What machines an EFI program is for; undefined when it is none, or for others. Pure.
 *
 * @param {Buffer} data
 * @returns {import('./table.mjs').Arch | undefined}
 */
export function efiArch(data) {
  if (data.length < 0x40 || data.toString('latin1', 0, 2) !== 'MZ') return undefined;
  const header = data.readUInt32LE(0x3c);
  if (header + 6 > data.length || data.toString('latin1', header, header + 4) !== 'PE\0\0') return undefined;
  return MACHINES[data.readUInt16LE(header + 4)];
}
