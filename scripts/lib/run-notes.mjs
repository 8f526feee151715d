// What a test run tells at its end: the versions it used, and what it skipped. Tests run in several processes,
// which all append to one file.
//
//   RAILHEAD_RUN_NOTES=FILE  where notes are kept; without it there are none
import { appendFileSync } from 'node:fs';
import { read } from './files.mjs';

/** @typedef {{ kind: 'version' | 'skip', text: string }} RunNote */

/**
 * @param {RunNote['kind']} kind
 * @param {string} text
 */
export function noteForRun(kind, text) {
  const file = process.env.RAILHEAD_RUN_NOTES;
  // One write for each line: appended as a whole, also when another process writes at the same time.
  if (file) appendFileSync(file, `${JSON.stringify({ kind, text })}\n`);
}

/**
 * @param {string} path
 * @returns {RunNote[]} each note once, in the order of their first appearance; none if no file was written
 */
export function readRunNotes(path) {
  const lines = (read(path) ?? '').split('\n').filter(Boolean);
  return [...new Set(lines)].map((line) => JSON.parse(line));
}
