// `npm run bench [NAME …]`: measures, and compares with peers in the same run. Ratios carry over between machines,
// seconds don't; nothing here passes or fails.
import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundledNode, installPackages, packagesAreStale } from './lib/packages.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
if (packagesAreStale({ root, dev: true })) await installPackages({ root, dev: true });

const folder = join(root, 'test', 'bench');
const wanted = process.argv.slice(2);
const names = readdirSync(folder)
  .filter((file) => file.endsWith('.bench.ts'))
  .map((file) => file.replace('.bench.ts', ''));
const unknown = wanted.filter((name) => !names.includes(name));
if (unknown.length > 0) {
  console.error(`There is no bench ${unknown.join(', ')}; there are: ${names.join(', ')}`);
  process.exit(2);
}
for (const name of wanted.length > 0 ? wanted : names) {
  console.log(`\n== ${name}`);
  const { status } = spawnSync(bundledNode(root) ?? process.execPath, [join(folder, `${name}.bench.ts`)], {
    stdio: 'inherit',
  });
  if (status !== 0) process.exitCode = 1;
}
