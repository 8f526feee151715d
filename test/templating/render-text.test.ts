import { expect, it } from 'vitest';
import { text } from './make.ts';

it('writes values as they are', () => {
  const unit =
    '[Service]\n{{#each env}}\nEnvironment={{@key}}={{this}}\n{{/each}}\nExecStart=/bin/x {{n}} "{{s}}"\n';
  expect(text(unit, { env: { A: '<&>', B: true }, n: 5, s: "it's" })).toBe(
    '[Service]\nEnvironment=A=<&>\nEnvironment=B=true\nExecStart=/bin/x 5 "it\'s"\n',
  );
});

it.each(['a\nb', 'a\rb', '\t', '\0', '\u007f', '\u0085', '\u2028', '\u001b[31m'])(
  'refuses %j in a value',
  (v) => {
    expect(text('x\n  y={{v}}\n', { v })).toBe(
      't.yaml:2:5: error: {{v}} has a line break or another control character, which this file can not hold safely',
    );
  },
);

it('refuses what is no text', () => {
  expect(text('{{v}}', { v: [1] })).toContain('{{v}} is a list');
  expect(text('{{v}}', { v: null })).toContain('{{v}} has no value here');
  expect(text('{{v}}', { v: '\ud800' })).toContain('{{v}} is not valid Unicode');
  expect(text('{{v}}', { v: () => 'x' })).toContain('is neither text nor a number');
  expect(text('{{v}}', {})).toContain('unknown name "v"');
});

it('can say anything as JSON, which escapes line breaks', () => {
  expect(text('x={{json v}}', { v: ['a\nb', { c: 1 }] })).toBe('x=["a\\nb",{"c":1}]');
});

it('indents partials', () => {
  expect(text({ t: 'a\n  {{> p}}\nb\n', p: 'x {{v}}\n\n{{v}}\n' }, { v: 'v' })).toBe('a\n  x v\n\n  v\nb\n');
});

it('does not show a secret value', () => {
  expect(text('{{v}}', { v: 'secret\n' })).not.toContain('secret');
});
