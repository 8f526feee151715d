/** Where in a config something is: `['storage', 'files', 0, 'path']`. */
export type ConfigPath = readonly (string | number)[];

/** `$.storage.files.0.path`, the way `ignition-validate` writes it. */
export function formatConfigPath(path: ConfigPath): string {
  return ['$', ...path].join('.');
}

/** `storage.files[].path`: the same for all entries of a list. */
export function fieldName(path: ConfigPath): string {
  return path.reduce<string>((name, step) => {
    if (typeof step === 'number') return `${name}[]`;
    return name === '' ? step : `${name}.${step}`;
  }, '');
}
