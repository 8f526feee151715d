// What one place has of a group's files, and which of several places to take them from. Pure.

/** @typedef {import('./table.mjs').Group} Group */

/**
 * @typedef {object} Item
 * @property {string} path where it can be read
 * @property {string} sha256
 * @property {string} package
 * @property {string} version
 */

/**
 * @typedef {object} Supply
 * @property {string} source for a person: 'Debian trixie', 'this system'
 * @property {Map<string, Item>} items by their names in boot/
 * @property {true} [fresh] just fetched: there is nothing newer
 */

/** @typedef {Item & { source: string, fresh: boolean }} Chosen */

/**
 * @param {Group} group
 * @param {Supply[]} supplies best first
 * @returns {Map<string, Chosen>}
 */
export function choose(group, supplies) {
  const usable = group.together ? fullest(supplies) : supplies;
  /** @type {Map<string, Chosen>} */
  const chosen = new Map();
  for (const { file } of group.loaders) {
    const supply = usable.find(({ items }) => items.has(file));
    const item = supply?.items.get(file);
    if (supply && item) chosen.set(file, { ...item, source: supply.source, fresh: supply.fresh === true });
  }
  return chosen;
}

/**
 * @param {Supply[]} supplies
 * @returns {Supply[]} the one that has most, the first of several; or none
 */
function fullest(supplies) {
  const most = Math.max(0, ...supplies.map(({ items }) => items.size));
  return supplies.filter(({ items }) => items.size === most).slice(0, 1);
}

/**
 * @param {Group} group
 * @param {Supply[]} supplies
 */
export function suffices(group, supplies) {
  return choose(group, supplies).size === group.loaders.length;
}
