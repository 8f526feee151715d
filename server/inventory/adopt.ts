import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatProblem, isError } from '../document/problem.ts';
import { RailheadError, systemCode } from '../errors.ts';
import { loadInventoryFolder } from './load.ts';

export interface Adoption {
  name: string;
  pool: string;
  mac: string;
  uuid?: string | undefined;
  serial?: string | undefined;
}

/** Machines that were adopted get a file of their own: nothing that a person wrote is touched. */
export const ADOPTED_FILE = 'adopted.yaml';

const HEADER = `# yaml-language-server: $schema=./schema.json
#
# Machines that were adopted with \`railhead adopt\`. Yours to edit and to move into other files.

hosts:
`;

/** Adds a host to the inventory's files; the normal reload puts it in force. Takes it back if it makes an error. */
export async function adopt(dir: string, shownAs: string, adoption: Adoption): Promise<string> {
  const file = join(dir, ADOPTED_FILE);
  const before = await readFile(file, 'utf8').catch((error: unknown) => {
    if (systemCode(error) === 'ENOENT') return undefined;
    throw error;
  });
  const lines = [
    `  - name: ${adoption.name}`,
    `    pool: ${adoption.pool}`,
    `    macs: ['${adoption.mac}']`,
    ...(adoption.uuid === undefined ? [] : [`    uuid: ${adoption.uuid}`]),
    ...(adoption.serial === undefined ? [] : [`    serial: ${JSON.stringify(adoption.serial)}`]),
  ];
  await replace(file, `${(before ?? HEADER).replace(/\n*$/, '\n')}${lines.join('\n')}\n`);
  const errors = (await loadInventoryFolder(dir, shownAs)).problems.filter(isError);
  if (errors.length === 0) return join(shownAs, ADOPTED_FILE);
  await replace(file, before ?? HEADER.replace('hosts:\n', 'hosts: []\n'));
  throw new RailheadError('RH_INVENTORY_INVALID', errors.map(formatProblem).join('\n'), {
    hint: 'Nothing was changed.',
  });
}

async function replace(file: string, text: string): Promise<void> {
  await writeFile(`${file}.new`, text);
  await rename(`${file}.new`, file);
}
