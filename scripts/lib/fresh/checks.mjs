// What a new user does in a fresh root: start the appliance, run the tests.
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startInside } from './inside.mjs';

/** @typedef {import('./inside.mjs').Inside} Inside */
/** @typedef {{ inside: Inside, checkout: string, log: string }} Place a clone inside of a root */
/** @typedef {{ ok: boolean, text: string, details?: string[] }} Outcome */

const READY = 'http://127.0.0.1:8080/readyz';
const START_MS = 10 * 60_000;
const TEST_MS = 80 * 60_000;
/** Exists when the server is to stop. */
const STOP = '/tmp/stop';

/** Ends the server as Ctrl-C on its terminal would, so that it stops in order. */
const START = `npm start & pid=$!
while kill -0 $pid && [ ! -e ${STOP} ]; do sleep 0.2; done
kill -TERM $pid; wait $pid`;

/**
 * `npm start` until it is ready, and again.
 *
 * @param {Place} place
 * @returns {Promise<Outcome>}
 */
export async function checkStart(place) {
  if (await isReady()) return { ok: false, text: `something already answers at ${READY}: stop it first` };
  /** @type {string[]} */
  const times = [];
  for (const which of ['first', 'second']) {
    const stop = join(place.inside.root, STOP);
    rmSync(stop, { force: true });
    const began = performance.now();
    const running = startInside(place.inside, place.checkout, START, place.log);
    let ended = false;
    running.ended.then(() => {
      ended = true;
    });
    while (!ended && performance.now() - began < START_MS && !(await isReady())) await sleep(200);
    const ready = !ended && (await isReady());
    times.push(`${((performance.now() - began) / 1000).toFixed(1)} s`);
    writeFileSync(stop, '');
    const { code, output } = await Promise.race([running.ended, endLater(running.stop)]);
    if (!ready)
      return { ok: false, text: `the ${which} npm start was never ready`, details: lastLines(output) };
    if (code !== 0) return { ok: false, text: `npm start ended with ${code}`, details: lastLines(output) };
  }
  return { ok: true, text: `ready after ${times[0]}, the second time after ${times[1]}` };
}

/** @param {() => void} stop @returns {Promise<{ code: number, output: string }>} */
async function endLater(stop) {
  await sleep(60_000, undefined, { ref: false });
  stop();
  return { code: 1, output: 'it did not stop within 60 s' };
}

async function isReady() {
  try {
    return (await fetch(READY, { signal: AbortSignal.timeout(5_000) })).ok;
  } catch {
    return false;
  }
}

/**
 * @param {Place} place
 * @param {string} command one that ends with what was not tested, and with counts
 * @returns {Promise<Outcome>}
 */
export async function checkTests(place, command) {
  const began = performance.now();
  const running = startInside(place.inside, place.checkout, command, place.log);
  const deadline = setTimeout(running.stop, TEST_MS);
  const { code, output } = await running.ended;
  clearTimeout(deadline);
  const minutes = ((performance.now() - began) / 60_000).toFixed(1);
  const counts = output.match(/^\d+ passed, \d+ failed.*$/m)?.[0];
  const text = `${counts ?? `no counts, exit ${code}`}, ${minutes} min`;
  const notes = /^(Used:|Not tested in this run:)[\s\S]*/m.exec(output)?.[0].trim().split('\n') ?? [];
  const ok = code === 0 && counts !== undefined;
  return { ok, text, details: ok ? notes : [...failures(output), ...notes] };
}

/** @param {string} output what vitest printed */
function failures(output) {
  const found = output.split('\n').filter((line) => /^\s*(FAIL|×|✗)/.test(line));
  return found.length > 0 ? [...new Set(found)].slice(0, 30) : lastLines(output);
}

/** @param {string} output */
function lastLines(output) {
  return output.trimEnd().split('\n').slice(-15);
}
