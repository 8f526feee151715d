import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { isRecord } from '../../server/document/shape.ts';
import { HELPERS } from '../../server/templating/helpers.ts';
import { lab } from '../inventory/make.ts';
import { compose, textIn, valuesFor } from './make.ts';

const DOCS = readFileSync(new URL('../../docs/templates.md', import.meta.url), 'utf8');

/** Names that belong to whoever writes the inventory. */
const OPEN = ['variables', 'host.labels', 'cluster.addons', 'cluster.rollout'];

function pathsOf(value: unknown, path: string): string[] {
  if (OPEN.includes(path) || !isRecord(value)) return [path];
  return Object.entries(value).flatMap(([name, item]) =>
    pathsOf(item, path === '' ? name : `${path}.${name}`),
  );
}

it('docs/templates.md has every value that templates may name, and every helper', () => {
  const paths = pathsOf(valuesFor(lab()), '');
  expect(paths).toContain('host.name');
  const missing = [
    ...paths.map((path) => path.replace(/^variables$/, 'variables.…')),
    ...HELPERS.keys(),
  ].filter((name) => !new RegExp(`\`${RegExp.escape(name)}[\` ]`).test(DOCS));
  expect(missing).toEqual([]);
});

it('its example is right', () => {
  const example = /```yaml\n([\s\S]*?)```/.exec(DOCS)![1]!.replaceAll(/^ {2}/gm, '');
  const composed = compose({ 'snippets/motd.bu': example }, { values: valuesFor(lab()) });
  expect(textIn(composed, '/etc/motd')).toBe('n1, ask nobody\n');
});
