import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseYaml } from '../../../server/document/yaml.ts';
import { readerOfFolder } from '../../../server/ignition/butane/files-folder.ts';
import { type Transpiled, transpileButane } from '../../../server/ignition/butane/transpile.ts';

const FOLDER = fileURLToPath(new URL('../../fixtures/butane', import.meta.url));
/** What `local` and `trees` in the fixtures read from. */
export const FILES = join(FOLDER, 'files');

/** good: accepted by all; bad: refused by all; stricter: refused by us alone, see the table in the interop test. */
export type FixtureKind = 'good' | 'bad' | 'stricter';

export interface Fixture {
  name: string;
  text: string;
}

export function fixtures(kind: FixtureKind): Fixture[] {
  return readdirSync(join(FOLDER, kind))
    .sort()
    .map((file) => ({ name: `${kind}/${file}`, text: readFileSync(join(FOLDER, kind, file), 'utf8') }));
}

export function transpile(text: string, name = 'test.yaml'): Transpiled {
  const parsed = parseYaml(name, text);
  if ('problem' in parsed) return { config: undefined, problems: [parsed.problem] };
  return transpileButane(parsed.document, { files: readerOfFolder(FILES) });
}
