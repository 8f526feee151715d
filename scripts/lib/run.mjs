// Runs other programs, within a time limit.
import { spawn } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/**
 * @param {string} program
 * @param {string[]} args
 * @param {{ cwd?: string, env?: Record<string, string>, seconds: number, signal?: AbortSignal | undefined }} options
 * @returns {Promise<{ code: number, out: string, err: string }>} code -1: could not start, or took too long
 */
export function run(program, args, { cwd = '/', env = {}, seconds, signal }) {
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd,
      env: { ...process.env, LC_ALL: 'C', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: seconds * 1000,
      killSignal: 'SIGKILL',
      signal,
    });
    let out = '';
    let err = '';
    child.stdout.on('data', (chunk) => {
      out += chunk;
    });
    child.stderr.on('data', (chunk) => {
      err += chunk;
    });
    /** @param {number} code @param {string} [why] */
    const end = (code, why) => {
      // What it has started may live on and hold these open: that is no reason for us to wait.
      child.stdout.destroy();
      child.stderr.destroy();
      resolve({ code, out, err: why === undefined ? err : `${err}\n${why}`.trim() });
    };
    child.once('error', (error) => end(-1, signal?.aborted ? `${program} was stopped` : error.message));
    child.once('exit', (_, killed) => {
      if (killed) end(-1, child.killed ? `${program} took over ${seconds} s` : `${program}: ${killed}`);
    });
    child.once('close', (code) => end(code ?? -1));
  });
}

/**
 * @param {string} program
 * @param {string[]} args
 */
export async function succeeds(program, ...args) {
  return (await run(program, args, { seconds: 20 })).code === 0;
}

/**
 * @param {string} name
 * @param {string} [path] folders to look in
 */
export function onPath(name, path = process.env.PATH ?? '') {
  const paths = path.split(delimiter).filter(Boolean);
  return paths.map((folder) => join(folder, name)).filter(isProgram);
}

/** @param {string} path */
export function isProgram(path) {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
