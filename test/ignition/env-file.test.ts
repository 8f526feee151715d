import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { envFile } from '../../server/ignition/env-file.ts';
import { tempFolder } from '../support/temp.ts';

it('leaves out what has no value, and keeps what is empty', () => {
  expect(envFile({ A: undefined, B: '', C: 0 })).toBe("B=''\nC=0\n");
});

/** All at once: starting a shell for each would take longer than the rest of the suite. */
function readByShell(dir: string, values: readonly string[]): string[] {
  const names = values.map((_, index) => `V${index}`);
  const file = join(dir, 'env');
  writeFileSync(file, envFile(Object.fromEntries(values.map((value, index) => [`V${index}`, value]))));
  const print = names.map((name) => `printf '%s\\0' "$${name}"`).join('\n');
  const { stdout, stderr, status } = spawnSync('sh', ['-c', `. "$0"\n${print}`, file], { encoding: 'utf8' });
  expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  return stdout.split('\0').slice(0, -1);
}

it('whatever a value is, a shell reads it back and runs nothing', async () => {
  const dir = await tempFolder();
  const odd = [
    "'",
    "''",
    '"',
    '\\',
    '$(touch pwned)',
    '`id`',
    '\n',
    'a\nB=c',
    '~',
    '#',
    ' ',
    '\r',
    '!',
    'é💩',
    '-n',
    '%s',
  ];
  const text = fc.oneof(
    fc.array(fc.integer({ min: 1, max: 0xd7ff })).map((points) => String.fromCodePoint(...points)),
    fc.array(fc.constantFrom(...odd)).map((parts) => parts.join('')),
  );
  const seed = Number(process.env.RAILHEAD_SEED ?? Date.now() % 2 ** 31);
  const values = fc.sample(text, { seed, numRuns: 500 });
  expect({ seed, values: readByShell(dir, values) }).toEqual({ seed, values });
});
