import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { missingPackages } from '../../scripts/lib/packages.mjs';
import { ROOT } from '../support/appliance.ts';

interface Lock {
  packages: Record<string, { integrity?: string; resolved?: string }>;
}

const text = await readFile(join(ROOT, 'package-lock.json'), 'utf8');
const { packages } = JSON.parse(text) as Lock;

// Packages for other platforms may lack a hash: Railhead never installs them, and a registry that mirrors only what is
// installed knows none.
it.for([
  ['x64', 'glibc'],
  ['x64', 'musl'],
  ['arm64', 'glibc'],
  ['arm64', 'musl'],
] as const)('every package that Linux on %s with %s can install has an integrity hash', ([cpu, libc]) => {
  const installable = missingPackages(text, undefined, { os: 'linux', cpu, libc, dev: true });
  expect(installable.length).toBeGreaterThan(100);
  const bare = installable.filter(({ path }) => packages[path]?.integrity === undefined);
  expect(bare).toEqual([]);
});

it('the lock file names no registry: packages come from the one that the machine is set up for', () => {
  expect(Object.keys(packages).filter((path) => packages[path]?.resolved !== undefined)).toEqual([]);
});
