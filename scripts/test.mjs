// `npm test`: sets itself up, then runs every check there is and counts them.
//   --unit    only tests that run inside one process, without PostgreSQL: under half a minute
//   --long    only what takes too long for every day
//   --static  only format, lint, types and arrows
//   anything else is handed to vitest (file names, -t NAME …)
import { spawn } from 'node:child_process';
import { accessSync, constants, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundledNode, installPackages, packagesAreStale } from './lib/packages.mjs';
import { readRunNotes } from './lib/run-notes.mjs';
import { testTools } from './lib/test-tools.mjs';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const args = process.argv.slice(2);
const unit = take('--unit');
const long = take('--long');
const staticOnly = take('--static');

try {
  if (packagesAreStale({ root, dev: true })) await installPackages({ root, dev: true });
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}

const node = bundledNode(root) ?? process.execPath;
const bin = (/** @type {string} */ name) => join(root, 'node_modules', name);
let passed = 0;
let failed = 0;
let skipped = 0;

// The unit tests are for a quick answer while editing; editors and `npm run check` do the rest.
if (!unit) {
  await check('format and lint', [bin('@biomejs/biome/bin/biome'), 'check', '--error-on-warnings', '.']);
  await check('types', [bin('typescript/bin/tsc'), '--noEmit']);
  await check('arrows', [join(root, 'scripts', 'check-arrows.mjs')]);
}
if (!staticOnly) await vitest();

const counts = [`${passed} passed`, `${failed} failed`, ...(skipped > 0 ? [`${skipped} skipped`] : [])];
console.log(`\n${counts.join(', ')}`);
process.exitCode = failed > 0 ? 1 : 0;

/**
 * @param {string} what
 * @param {string[]} command
 */
async function check(what, command) {
  const { code, output } = await run(command, { quiet: true });
  console.log(`${code === 0 ? '✓' : '✗'} ${what}`);
  if (code === 0) {
    passed++;
  } else {
    failed++;
    console.log(output);
  }
}

async function vitest() {
  const folder = mkdtempSync(join(tmpdir(), 'railhead-test-'));
  const report = join(folder, 'report.json');
  const notes = join(folder, 'notes');
  try {
    const reporters = [
      '--reporter=default',
      '--reporter=./test/support/second-tries.ts',
      '--reporter=json',
      `--outputFile.json=${report}`,
    ];
    const project = unit
      ? ['--project=unit']
      : long
        ? ['--project=long']
        : ['--project=unit', '--project=real'];
    process.env.RAILHEAD_RUN_NOTES = notes;
    const env = unit
      ? { RAILHEAD_TEST_PARTS: 'none', ...memoryForFiles() }
      : await testTools(join(folder, 'bin'));
    const { code } = await run([bin('vitest/vitest.mjs'), 'run', ...reporters, ...project, ...args], { env });
    const result = JSON.parse(readFileSync(report, 'utf8'));
    passed += result.numPassedTests;
    failed += result.numFailedTests;
    skipped += result.numPendingTests;
    // A file that could not even be loaded has no tests to count.
    if (code !== 0 && result.numFailedTests === 0) failed++;
    tellNotes(readRunNotes(notes), result);
  } catch (error) {
    console.error(`vitest wrote no report: ${error instanceof Error ? error.message : error}`);
    failed++;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * What a person who has never seen this should know of the run: what it used, what it did not test and why.
 *
 * @param {import('./lib/run-notes.mjs').RunNote[]} notes
 * @param {{ testResults: { name: string, assertionResults: { status: string }[] }[] }} result
 */
function tellNotes(notes, result) {
  const texts = (/** @type {string} */ kind) =>
    notes.filter((note) => note.kind === kind).map(({ text }) => text);
  const isOld = (/** @type {string} */ text) => /\bMAY BE OLD\b/.test(text);
  const versions = texts('version');
  if (versions.length > 0) console.log(`\nUsed: ${versions.filter((text) => !isOld(text)).join(', ')}`);
  for (const text of versions.filter(isOld)) console.log(text);
  const counts = result.testResults
    .map(({ name, assertionResults }) => ({
      name: relative(root, name),
      count: assertionResults.filter(({ status }) => status === 'skipped' || status === 'pending').length,
    }))
    .filter(({ count }) => count > 0);
  const skips = texts('skip');
  if (unit) skips.push('the store on PostgreSQL, and what needs other programs: `npm test` does that');
  if (skips.length > 0) {
    console.log(`\nNot tested in this run:${skips.map((text) => `\n  - ${text}`).join('')}`);
  }
  if (counts.length > 0) {
    console.log(`Skipped tests: ${counts.map(({ name, count }) => `${name} (${count})`).join(', ')}`);
  }
}

/** Every unit test has a database of its own, and half of its time would be waiting for a disk. */
function memoryForFiles() {
  try {
    accessSync('/dev/shm', constants.W_OK);
    return process.env.TMPDIR === undefined ? { TMPDIR: '/dev/shm' } : {};
  } catch {
    return {};
  }
}

/**
 * @param {string[]} command
 * @param {{ quiet?: boolean, env?: Record<string, string> }} options
 * @returns {Promise<{ code: number, output: string }>}
 */
function run(command, { quiet = false, env = {} } = {}) {
  const child = spawn(node, command, {
    cwd: root,
    stdio: quiet ? ['ignore', 'pipe', 'pipe'] : 'inherit',
    env: { ...process.env, ...env, PATH: `${dirname(node)}:${env.PATH ?? process.env.PATH}` },
  });
  let output = '';
  child.stdout?.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr?.on('data', (chunk) => {
    output += chunk;
  });
  return new Promise((resolve) => child.once('close', (code) => resolve({ code: code ?? 1, output })));
}

/** @param {string} flag */
function take(flag) {
  const index = args.indexOf(flag);
  if (index >= 0) args.splice(index, 1);
  return index >= 0;
}
