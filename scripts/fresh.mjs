// `npm run test:fresh`: proves the two commands on a machine that has nothing but Node and npm. It makes a minimal
// Debian in a folder, clones this commit into it, and runs there what a new user runs. Root only.
//   --quick  start, unit tests as both users and one boot of a virtual machine: less than a quarter of an hour
//   --cold   without the Go programs that this machine has built
//   --keep   leave the roots, to look around in them
import { existsSync, mkdirSync, mkdtempSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { cacheFolder, folders } from './lib/cache.mjs';
import { errorText } from './lib/files.mjs';
import { checkStart, checkTests } from './lib/fresh/checks.mjs';
import { installGlobally, makeRoot, networkEnvironment, removeRoot, USER } from './lib/fresh/root.mjs';
import { lockedNode } from './lib/node.mjs';
import { run } from './lib/run.mjs';

/** @typedef {import('./lib/fresh/checks.mjs').Place} Place */
/** @typedef {import('./lib/fresh/checks.mjs').Outcome} Outcome */

const project = dirname(dirname(fileURLToPath(import.meta.url)));
const flags = new Set(process.argv.slice(2));
const unknown = [...flags].find((flag) => !['--quick', '--cold', '--keep'].includes(flag));
if (unknown !== undefined) fail(`unknown flag ${unknown}: --quick, --cold and --keep exist`);
if (process.getuid?.() !== 0) fail('SKIPPED: npm run test:fresh makes a root file system, and only root can');

const NPM = 'npm@11';
const KEPT_RUNS = 3;
const ONE_BOOT = "npm test -- test/e2e/loaders.test.ts -t 'with BIOS, through an iPXE'";
/** What Go has built, which takes a quarter of an hour. Nothing of apt and npm. */
const GO_BUILT = ['kubernetes', 'go'];

const kept = join(cacheFolder(), 'fresh');
mkdirSync(kept, { recursive: true });
removeOldRuns();
const folder = mkdtempSync(join(kept, 'run-'));
let passed = 0;
let failed = 0;
/** @type {string[]} */
const summary = [];

process.once('SIGINT', () => process.exit(130));
process.once('SIGTERM', () => process.exit(143));
process.once('exit', () => {
  if (!flags.has('--keep')) {
    for (const name of ['debian', 'node24']) removeRoot(join(folder, name));
  }
});

const commit = await git('rev-parse', '--short', 'HEAD');
try {
  if ((await git('status', '--porcelain')) !== '')
    console.log('Changes that are not committed are not tested.');
  console.log(`Commit ${commit}. Logs: ${folder}`);
  const debian = join(folder, 'debian');
  await step("a minimal Debian with Debian's Node and npm", async () => {
    await makeRoot(debian, ['nodejs', 'npm']);
    return { ok: true, text: await versions(debian) };
  });
  const asRoot = await clone(debian, 'root', true);
  await step('root, npm start', () => checkStart(asRoot));
  if (flags.has('--quick')) {
    const asUser = await clone(debian, USER, false);
    await step('root, npm run test:unit', () => checkTests(asRoot, 'npm run test:unit'));
    await step('root, one boot', () => checkTests(asRoot, ONE_BOOT));
    await step('user, npm start', () => checkStart(asUser));
    await step('user, npm run test:unit', () => checkTests(asUser, 'npm run test:unit'));
  } else {
    await step('root, npm test', () => checkTests(asRoot, 'npm test'));
    const node24 = join(folder, 'node24');
    await step('a minimal Debian with Node 24', async () => {
      await makeRoot(node24, []);
      const node = lockedNode(project);
      await installGlobally(node24, [`${node?.name}@${node?.version}`, NPM]);
      return { ok: true, text: await versions(node24) };
    });
    const asUser = await clone(node24, USER, false);
    await step('user on Node 24, npm start', () => checkStart(asUser));
    await step('user on Node 24, npm run test:unit', () => checkTests(asUser, 'npm run test:unit'));
  }
} catch (error) {
  failed++;
  console.log(errorText(error));
}
console.log(`\nSummary\n${summary.join('\n')}\n\n${passed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;

/** Logs of the last few runs are enough. Roots are removed anyway, unless somebody kept them. */
function removeOldRuns() {
  const age = (/** @type {string} */ path) => statSync(path).mtimeMs;
  const runs = folders(kept).sort((a, b) => age(b) - age(a));
  for (const run of runs.slice(KEPT_RUNS - 1)) removeRoot(run);
}

/**
 * @param {string} what
 * @param {() => Promise<Outcome>} work
 */
async function step(what, work) {
  console.log(`\n… ${what}`);
  const began = performance.now();
  const minutes = () => ((performance.now() - began) / 60_000).toFixed(1);
  const alive = setInterval(() => console.log(`  … ${what}: ${minutes()} min`), 60_000);
  try {
    const { ok, text, details = [] } = await work();
    if (ok) passed++;
    else failed++;
    const line = `${ok ? '✓' : '✗'} ${what}: ${text} (${minutes()} min)`;
    console.log([line, ...details.map((detail) => `    ${detail}`)].join('\n'));
    summary.push(line);
  } finally {
    clearInterval(alive);
  }
}

/**
 * @param {string} root
 * @param {string} owner
 * @param {boolean} isRoot
 * @returns {Promise<Place>}
 */
async function clone(root, owner, isRoot) {
  const checkout = isRoot ? '/root/railhead' : `/home/${owner}/railhead`;
  await must('git', ['clone', '--quiet', project, join(root, checkout)]);
  await must('git', ['-C', join(root, checkout), 'checkout', '--quiet', '--detach', commit]);
  await must('chroot', [root, 'chown', '-R', `${owner}:`, checkout]);
  const built = flags.has('--cold') ? [] : GO_BUILT.filter((name) => existsSync(join(cacheFolder(), name)));
  return {
    inside: {
      root,
      asRoot: isRoot,
      env: await networkEnvironment(),
      // The cache of an ordinary user is elsewhere, and unit tests need none.
      mounts: isRoot
        ? built.map((name) => [join(cacheFolder(), name), join('/var/cache/railhead', name)])
        : [],
    },
    checkout,
    log: join(folder, `${owner}.log`),
  };
}

/** @param {string} root */
async function versions(root) {
  const { out } = await run(
    'chroot',
    [root, 'sh', '-c', 'cat /etc/debian_version; node --version; npm --version'],
    {
      seconds: 60,
    },
  );
  const [debian, node, npm] = out.trim().split('\n');
  return `Debian ${debian}, Node ${node}, npm ${npm}`;
}

/** @param {string[]} args */
function git(...args) {
  return must('git', ['-C', project, ...args]);
}

/**
 * @param {string} program
 * @param {string[]} args
 */
async function must(program, args) {
  const { code, out, err } = await run(program, args, { seconds: 300 });
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} failed: ${err.trim()}`);
  return out.trim();
}

/** @param {string} message */
function fail(message) {
  console.error(message);
  process.exit(1);
}
