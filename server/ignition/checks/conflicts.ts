import { posix } from 'node:path';
import { quote } from '../../document/problem.ts';
import type { ConfigPath } from '../spec/place.ts';
import type { IgnitionConfig } from '../spec/schema.ts';
import type { CheckContext } from './check.ts';
import { cleanPath, foldersAbove } from './paths.ts';

const UNITS = '/etc/systemd/system/';

/** Files, directories, links and units that are in each other's way. The same path twice is a duplicate: not here. */
export function checkConflicts(config: IgnitionConfig, context: CheckContext): void {
  const { directories = [], files = [], links = [] } = config.storage ?? {};
  const linkPaths = new Set(links.map(({ path }) => path));
  const filePaths = new Set(files.map(({ path }) => path));
  const directoryPaths = new Set(directories.map(({ path }) => path));
  const units = unitPaths(config);

  const checkPlace = (path: string, at: ConfigPath): void => {
    const above = foldersAbove(path);
    const link = above.find((folder) => linkPaths.has(folder));
    if (link !== undefined) {
      context.error(at, `it goes through the link ${quote(link)}; write where that link leads to`);
    }
    const file = above.find((folder) => filePaths.has(folder));
    if (file !== undefined)
      context.warning(at, `it is below the file ${quote(file)}, which can't hold anything`);
    if (units.has(path)) {
      context.error(
        [...at, 'path'],
        `${quote(path)} is also written by systemd.units; keep only one of them`,
      );
    }
  };
  directories.forEach(({ path }, index) => {
    checkPlace(path, ['storage', 'directories', index]);
  });
  files.forEach(({ path }, index) => {
    checkPlace(path, ['storage', 'files', index]);
  });
  links.forEach(({ path, target = '', hard }, index) => {
    checkPlace(path, ['storage', 'links', index]);
    if (hard === true && target !== '' && directoryPaths.has(hardTarget(path, target))) {
      context.error(
        ['storage', 'links', index],
        'a hard link to a directory is impossible; make it a symbolic one',
      );
    }
  });
}

/** Ignition starts from the link itself, not from its folder, when the target is relative. */
function hardTarget(path: string, target: string): string {
  const clean = cleanPath(target);
  return clean.startsWith('/') ? clean : cleanPath(posix.join(path, target));
}

function unitPaths({ systemd }: IgnitionConfig): Set<string> {
  const paths = new Set<string>();
  for (const { name, contents, dropins = [] } of systemd?.units ?? []) {
    if (contents) paths.add(`${UNITS}${name}`);
    for (const dropin of dropins) {
      if (dropin.contents) paths.add(`${UNITS}${name}.d/${dropin.name}`);
    }
  }
  return paths;
}
