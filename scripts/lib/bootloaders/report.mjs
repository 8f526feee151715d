// What a person gets to read. Pure.

/** @typedef {import('./fill.mjs').Row} Row */

/** Nobody asks for one of these first. */
const MODULE = /^(.*\/)?(?!ldlinux\.)[^/]+(\.c32)$/;

/** @param {Row} row @returns {string} */
const fromWhere = ({ state, entry }) => {
  if (state !== 'own') return `${entry?.package ?? ''} (${entry?.source ?? 'unknown'})`;
  return entry === undefined ? 'yours' : 'changed by somebody';
};

/**
 * @param {Row[]} rows
 * @returns {string[]} the lines of a table of what is there
 */
export function formatTable(rows) {
  const lines = rows
    .filter(({ state }) => state !== 'absent')
    .map((row) => ({
      file: row.loader.file,
      version: row.state === 'own' ? '–' : (row.entry?.version ?? 'unknown'),
      from: fromWhere(row),
    }));
  if (lines.length === 0) return [];
  const shown = [{ file: 'FILE', version: 'VERSION', from: 'FROM' }, ...collapse(lines)];
  const width = (/** @type {'file' | 'version'} */ name) =>
    Math.max(...shown.map((line) => line[name].length));
  const [file, version] = [width('file'), width('version')];
  return shown.map((line) => `${line.file.padEnd(file)}  ${line.version.padEnd(version)}  ${line.from}`);
}

/**
 * Modules by the dozen make one line.
 *
 * @param {Array<{ file: string, version: string, from: string }>} lines
 */
function collapse(lines) {
  const kind = (/** @type {{ file: string, version: string, from: string }} */ { file, version, from }) => {
    const module = MODULE.exec(file);
    return module === null ? undefined : [`${module[1] ?? ''}*${module[2]}`, version, from].join('\n');
  };
  const modules = new Map();
  for (const line of lines) modules.set(kind(line), (modules.get(kind(line)) ?? 0) + 1);
  const seen = new Set();
  return lines.flatMap((line) => {
    const key = kind(line);
    if (key === undefined || modules.get(key) === 1) return [line];
    if (seen.has(key)) return [];
    seen.add(key);
    return [{ ...line, file: `${key.split('\n')[0]} (${modules.get(key)} modules)` }];
  });
}

/**
 * @param {Row[]} rows
 * @param {string} bootDir
 * @returns {string[]} a line for each file that was left alone; modules together
 */
export function formatKept(rows, bootDir) {
  const lines = rows
    .filter(({ state }) => state === 'own')
    .map(({ loader, entry, group }) => {
      const mixed = group.together && rows.some((row) => row.group === group && row.state === 'intact');
      return {
        file: loader.file,
        version:
          entry === undefined ? 'was not put there by this command' : 'was changed since it was put there',
        from: mixed ? ' It has to be of the same version as what it works with.' : '',
      };
    });
  return collapse(lines).map(
    ({ file, version, from }) =>
      `KEPT: ${bootDir}/${file} ${version}, so it stays as it is.${from} To have it replaced, delete it and run \`npm run bootloaders\`.`,
  );
}

/**
 * @param {Row[]} rows
 * @param {string} bootDir
 * @returns {string[]} a line for each project whose boot loaders could not all be had: what is missing, why, and
 *   what to do
 */
export function formatMissing(rows, bootDir) {
  const missing = rows.filter(({ state }) => state === 'absent');
  return [...new Set(missing.map(({ group }) => group))].map((group) => {
    const absent = missing.filter((row) => row.group === group);
    const why = absent[0]?.reason ? `: ${absent[0].reason}` : '';
    return `MISSING: ${names(absent)}${why}. What to do: ${group.install} and run \`npm run bootloaders\` again, or put the files into ${bootDir} yourself.`;
  });
}

/**
 * @param {Row[]} rows
 * @returns {string} those that machines ask for by name with what they are for, then how many others
 */
function names(rows) {
  const modules = rows.filter(({ loader }) => MODULE.test(loader.file));
  const named = rows
    .filter((row) => !modules.includes(row))
    .map(({ loader }) =>
      loader.needed || rows.length === 1 ? `${loader.file} (${loader.why})` : loader.file,
    );
  if (modules.length > 0)
    named.push(modules.length === 1 ? String(modules[0]?.loader.file) : `${modules.length} modules`);
  return named.join(', ');
}

/**
 * @param {string[]} said by several places, with their names in front
 * @returns {string} the same said once
 */
export function sayOnce(said) {
  /** @type {Map<string, string[]>} */
  const places = new Map();
  for (const text of said) {
    const [, place = '', what = text] = /^(.*?): (.*)$/.exec(text) ?? [];
    places.set(what, [...(places.get(what) ?? []), place]);
  }
  return [...places]
    .map(([what, names]) => `${names.filter(Boolean).join(', ')}: ${what}`.replace(/^: /, ''))
    .join('; ');
}

/** @param {Row[]} rows */
export function lacksNeeded(rows) {
  return rows.some(({ state, loader }) => state === 'absent' && loader.needed);
}
