// Which files to write, given what is there and what can be had. Pure.

/** @typedef {import('./manifest.mjs').Entry} Entry */
/** @typedef {import('./fill.mjs').Row} Row */

/**
 * @param {import('./table.mjs').Group} group
 * @param {Array<Pick<Row, 'loader' | 'state' | 'hash'>>} rows the group's
 * @param {Map<string, import('./supply.mjs').Chosen>} chosen
 * @returns {{ adopt: Entry[], write: Entry[] }} adopt: the user's own files that are the very same as ours
 */
export function plan(group, rows, chosen) {
  /** @type {Entry[]} */
  const adopt = [];
  /** @type {Entry[]} */
  const write = [];
  // Never half a set of one version and half of another.
  if (group.together && rows.some(({ state, loader }) => state === 'intact' && !chosen.has(loader.file))) {
    return { adopt, write };
  }
  for (const { loader, state, hash } of rows) {
    const item = chosen.get(loader.file);
    if (item === undefined) continue;
    const { source, package: name, version, sha256, fresh } = item;
    const entry = { file: loader.file, sha256, package: name, version, source };
    // Put there by a run whose manifest was lost, or copied by hand.
    if (state === 'own' && hash === sha256) adopt.push(entry);
    if (state === 'own' || hash === sha256) continue;
    // Where files stand alone, one from the cache is no reason to touch what is there: it may be older.
    if (state === 'intact' && !group.together && !fresh) continue;
    write.push(hash === undefined ? entry : { ...entry, before: hash });
  }
  return { adopt, write };
}
