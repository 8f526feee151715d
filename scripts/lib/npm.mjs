// Runs npm, and says in one line what went wrong.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { basename, delimiter, dirname, join } from 'node:path';
import { say } from './files.mjs';

/**
 * @param {string[]} args
 * @param {object} options
 * @param {string} options.cwd the folder with package.json
 * @param {{ path: string }} options.node what runs npm
 * @param {(pid: number) => void} options.started gets npm's process id
 * @returns {Promise<void>}
 */
export async function runNpm(args, { cwd, node, started }) {
  const [command, ...first] = npmCommand(node.path);
  // npm's standard output must not mix with ours, which a caller may parse.
  const child = spawn(/** @type {string} */ (command), [...first, ...args], {
    cwd,
    env: { ...process.env, PATH: [dirname(node.path), process.env.PATH].join(delimiter) },
    stdio: ['ignore', 2, 'pipe'],
  });
  let output = '';
  child.stderr?.on('data', (/** @type {Buffer} */ chunk) => {
    output += chunk;
  });
  /** @type {NodeJS.Signals | undefined} */
  let asked;
  const forward = (/** @type {NodeJS.Signals} */ signal) => {
    asked = signal;
    child.kill(signal);
  };
  /** @type {NodeJS.Signals[]} */
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'];
  for (const signal of signals) process.on(signal, forward);
  try {
    if (child.pid !== undefined) started(child.pid);
    await new Promise((resolve, reject) => {
      child.once('error', (error) => reject(new Error(noNpm(error))));
      child.once('close', (code, signal) => {
        if (code === 0) resolve(undefined);
        else if (asked) reject(new Error(`Installing packages was stopped (${asked}): start again.`));
        else {
          // After a wrong lock file npm prints its whole manual.
          const lines = output.split(/^npm error (?:Clean install|Install) a /m)[0]?.split('\n') ?? [];
          say(lines.slice(0, 40).join('\n').trimEnd());
          reject(new Error(npmFailure(output, code ?? signal ?? 'unknown', cwd)));
        }
      });
    });
  } finally {
    for (const signal of signals) process.off(signal, forward);
    // Nobody else may listen for it: end the way the signal asks for, once our caller has cleaned up.
    if (asked !== undefined) {
      const signal = asked;
      setImmediate(() => process.kill(process.pid, signal));
    }
  }
}

/**
 * The npm that started us; else the one on PATH, which takes the first `node` on PATH. (npm ci may delete the very
 * Node that runs it, when that is the bundled one: on Linux a running binary survives its file.)
 *
 * @param {string} node
 * @returns {string[]}
 */
function npmCommand(node) {
  const cli = process.env.npm_execpath;
  if (cli !== undefined && /^np[mx]-cli\.js$/.test(basename(cli))) {
    const npm = join(dirname(cli), 'npm-cli.js');
    // An old npm on a new Node works, and Node warns about what npm calls.
    if (existsSync(npm)) return [node, '--no-deprecation', npm];
  }
  return ['npm'];
}

/** @param {Error} error */
function noNpm(error) {
  return `npm could not be started (${error.message}): install Node.js 18 or later with npm, then start again.`;
}

/**
 * One line: what failed, and what to do. npm's own words are on the screen already.
 *
 * @param {string} output
 * @param {string | number} code
 * @param {string} folder
 */
function npmFailure(output, code, folder) {
  const npmCode = /^npm (?:error|ERR!) code (\S+)/m.exec(output)?.[1];
  const advice = /** @type {Array<[RegExp, string]>} */ ([
    [/^EUSAGE$/, 'package.json and package-lock.json disagree: run `npm install` and commit both files'],
    [
      /^(ENOTFOUND|EAI_AGAIN|ECONN\w+|ETIMEDOUT|ERR_SOCKET_TIMEOUT|ENETUNREACH|EHOSTUNREACH)$/,
      'the package registry could not be reached: check the network, the proxy and `npm config get registry`, then start again',
    ],
    [
      /^(E401|E403|E404|ETARGET)$/,
      'the registry does not hand out a locked package: check `npm config get registry`',
    ],
    [
      /^EINTEGRITY$/,
      'a package is not what the lock file says: run `npm cache clean --force`, then start again',
    ],
    [
      /^(EACCES|EPERM|EROFS)$/,
      `permission denied: ${join(folder, 'node_modules')}: fix its owner, then start again`,
    ],
    [/^(ENOSPC|EDQUOT)$/, 'the disk is full: make room, then start again'],
  ]).find(([pattern]) => npmCode !== undefined && pattern.test(npmCode))?.[1];
  const what = `Installing packages failed (npm: ${npmCode ?? `exit ${code}`})`;
  return `${what}: ${advice ?? 'see the lines above, then start again'}.`;
}
