import type { TestNode } from './node.ts';

/** A disk as lsblk tells of it; `PARTLABEL`: those of its partitions. */
export interface Disk {
  NAME: string;
  RM?: string;
  TYPE?: string;
  SERIAL?: string;
  WWN?: string;
  MODEL?: string;
  ROTA?: string;
  /** In bytes. */
  SIZE?: string;
  PARTLABEL?: string;
}

/** As the real one prints it: columns, filled up with spaces. */
const LSBLK = `
fields= device=
while [ $# -gt 0 ]; do
  case $1 in
  -*o) fields=$2; shift ;;
  -*) ;;
  *) device=$1 ;;
  esac
  shift
done
cd "$(dirname "$0")/../disks"
for disk in *; do
  [ -z "$device" ] || [ "/dev/$disk" = "$device" ] || continue
  for field in $(echo "$fields" | tr , ' '); do cat "$disk/$field"; done
done`;

/** Gives the machine these disks. */
export async function giveDisks(node: TestNode, disks: readonly Disk[]): Promise<void> {
  await node.program('lsblk', LSBLK);
  for (const disk of disks) {
    const fields = {
      RM: '0',
      TYPE: 'disk',
      SERIAL: '',
      WWN: '',
      MODEL: '',
      ROTA: '0',
      SIZE: '500107862016',
      PARTLABEL: '',
      ...disk,
      NAME: `/dev/${disk.NAME}`,
    };
    for (const [field, value] of Object.entries(fields)) {
      await node.write(`disks/${disk.NAME}/${field}`, field === 'PARTLABEL' ? value : `  ${value} \n`);
    }
  }
}
