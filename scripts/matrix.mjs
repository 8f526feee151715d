// `npm run test:matrix`: real clients over every kind of bad link; see test/interop/tftp/matrix.ts.
import { spawnSync } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundledNode, installPackages, packagesAreStale } from './lib/packages.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
if (packagesAreStale({ root, dev: true })) await installPackages({ root, dev: true });

const matrix = join(root, 'test', 'interop', 'tftp', 'matrix.ts');
const { status } = spawnSync(bundledNode(root) ?? process.execPath, [matrix, ...process.argv.slice(2)], {
  stdio: 'inherit',
});
process.exitCode = status ?? 1;
