import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { formatProblem, hasErrors } from '../../server/document/problem.ts';
import { loadInventoryFolder } from '../../server/inventory/load.ts';

/**
 * Each folder is an inventory that is wrong in a way of its own; its expected.txt has the lines that
 * `railhead check test/fixtures/inventories/NAME` prints when it is run at the root of the repository.
 */
const FOLDER = 'test/fixtures/inventories';
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const NAMES = readdirSync(join(ROOT, FOLDER)).filter((name) =>
  existsSync(join(ROOT, FOLDER, name, 'expected.txt')),
);

describe('a broken inventory', () => {
  it('is here in many kinds', () => {
    expect(NAMES.length).toBeGreaterThanOrEqual(12);
    expect(NAMES).toEqual(readdirSync(join(ROOT, FOLDER)));
  });

  it.each(NAMES)('is refused with the right words in the right places: %s', async (name) => {
    const shownAs = join(FOLDER, name);
    const { inventory, problems } = await loadInventoryFolder(join(ROOT, shownAs), shownAs);
    const expected = readFileSync(join(ROOT, shownAs, 'expected.txt'), 'utf8');
    expect(problems.map((problem) => `${formatProblem(problem)}\n`).join('')).toBe(expected);
    expect(hasErrors(problems)).toBe(true);
    expect(inventory).toBeUndefined();
  });

  it.each(NAMES)('points at places that are there: %s', async (name) => {
    const dir = join(ROOT, FOLDER, name);
    const { problems } = await loadInventoryFolder(dir, dir);
    for (const { file, line, col } of problems) {
      const lines = readFileSync(file, 'utf8').split('\n');
      expect(line).toBeLessThanOrEqual(lines.length);
      // One past the end is where the end of a file is.
      expect(col).toBeLessThanOrEqual((lines[line - 1] ?? '').length + 1);
      expect(Math.min(line, col)).toBeGreaterThan(0);
    }
  });
});
