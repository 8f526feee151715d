import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { BOOT_FILES, dhcpSnippet } from '../../server/netboot/dhcp.ts';
import { ROOT } from '../support/appliance.ts';

const FILE = /\b[\w-]+\.(?:kpxe|efi|0)(?=,)/g;
const filesIn = (text: string, lines: RegExp): string[] =>
  text.split('\n').flatMap((line) => (lines.test(line) ? (line.match(FILE) ?? []) : []));
const inventory = { clusters: [], profiles: [], pools: [], hosts: [] };
const input = { nextServer: '10.0.0.5', baseUrl: 'http://10.0.0.5:8080', inventory };

it.each(['docker-compose.yml', 'README.md'])(
  '%s hands out the files that `railhead dhcp` advises',
  (name) => {
    const files = filesIn(readFileSync(join(ROOT, name), 'utf8'), /dhcp-boot=|--pxe-service=/);
    expect(files.length).toBeGreaterThan(1);
    expect(Object.values(BOOT_FILES)).toEqual(expect.arrayContaining([...new Set(files)]));
  },
);

it('names a file for every kind of firmware', () => {
  const files = filesIn(dhcpSnippet('dnsmasq', input), /^dhcp-boot=/);
  expect([...new Set(files)].sort()).toEqual(Object.values(BOOT_FILES).sort());
});
