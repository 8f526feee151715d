import { expect, it } from 'vitest';
import { butaneText } from '../../server/ignition/butane-text.ts';
import { compose, HEAD, textIn } from './make.ts';

const TEMPLATE = `${HEAD}storage:
  files:
    - path: "{{path}}"
      mode: 0644
      contents: {inline: "{{text}}"}
    - {path: /etc/b, mode: 420}
`;
const VALUES = { path: '/etc/a', text: 'quotes " and \' and {{braces}}\nand a line: - x\n' };

it('has a document for each layer, and modes as they were written', () => {
  const composed = compose({ 'a.bu': TEMPLATE, 'b.bu': HEAD }, { values: VALUES });
  if ('problems' in composed) throw new Error('refused');
  const text = butaneText(composed.layers);
  expect(text).toMatch(/^# a\.bu\nvariant: flatcar\n/);
  expect(text).toContain('---\n# b.bu\n');
  expect(text).toContain('mode: 0644\n');
  expect(text).toContain('mode: 420\n');
});

it('what it prints makes the same configuration again', () => {
  const first = compose({ 'a.bu': TEMPLATE }, { values: VALUES });
  if ('problems' in first) throw new Error('refused');
  // As a template once more: its braces are text there.
  const printed = butaneText(first.layers).replaceAll('{{', '\\{{');
  const again = compose({ 'a.bu': printed });
  expect(textIn(again, '/etc/a')).toBe(VALUES.text);
  expect(again).toMatchObject({ config: first.config });
});
