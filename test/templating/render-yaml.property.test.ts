import fc from 'fast-check';
import { expect, it } from 'vitest';
import { renderYaml } from '../../server/templating/render-yaml.ts';
import { setOf } from './make.ts';

/** Text that could be taken for something else: by YAML, by Handlebars, or by the engine. */
const hostile = fc.constantFrom(
  '{{',
  '}}',
  '{{v}}',
  '{{{v}}}',
  '\\{{v}}',
  '{{> p}}',
  '{{#if x}}',
  '---',
  '...',
  '- ',
  ': ',
  ' #',
  '#',
  '&a',
  '*a',
  '!!str ',
  '|',
  '>',
  '%',
  '@',
  '`',
  '"',
  "'",
  '\n',
  '\r\n',
  '\r',
  '\t',
  '\0',
  '\u0085',
  '\u2028',
  '\uFEFF',
  '\ud800',
  'ü',
  '😀',
  'Zq',
  `Zq${'0'.repeat(32)}x0000000z`,
  'x0000000z',
  '~',
  'null',
  'true',
  '1.30',
  '0644',
  '<<',
  '$1',
  '$&',
  '__proto__',
  ' ',
  '  ',
);
const anyText = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.string({ unit: 'grapheme', maxLength: 20 }),
  fc.array(fc.oneof(hostile, fc.string({ maxLength: 3 })), { maxLength: 8 }).map((parts) => parts.join('')),
);

const TEMPLATE = `# {{v}}
plain: {{v}}
quoted: "{{v}}"
single: '{{v}}'
inside: before {{v}} after
double: "a {{v}} b {{w}} \\"c\\""
block: |
  one {{v}}
    two {{w}}
folded: >-
  {{v}}
flow: [{{v}}, "{{w}}", {k: {{v}} }]
list:
  {{#each both as |item|}}
  - {{item}}
  - name: x-{{item}}
  {{/each}}
keyed:
  k-{{v}}: 1
{{> part}}
end: fixed
`;
const PART = 'part:\n  deep: [{{w}}]\n';

it('any text comes out as it went in, and nothing else changes', () => {
  const set = setOf({ t: TEMPLATE, part: PART });
  fc.assert(
    fc.property(anyText, anyText, (v, w) => {
      const result = renderYaml(set, 't', { v, w, both: [v, w] });
      const expected = {
        plain: v,
        quoted: v,
        single: v,
        inside: `before ${v} after`,
        double: `a ${v} b ${w} "c"`,
        block: `one ${v}\n  two ${w}\n`,
        folded: v,
        flow: [v, w, { k: v }],
        list: [v, { name: `x-${v}` }, w, { name: `x-${w}` }],
        keyed: { [`k-${v}`]: 1 },
        part: { deep: [w] },
        end: 'fixed',
      };
      expect('document' in result ? result.document.value : result).toEqual(expected);
    }),
    { numRuns: 2000 },
  );
});

it('any value keeps its type', () => {
  const set = setOf({ t: 'a:\n  - {{v}}\nb: {{v}}\n' });
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 4 }), (v) => {
      const result = renderYaml(set, 't', { v });
      expect('document' in result ? result.document.value : result).toEqual({ a: [v], b: v });
    }),
  );
});

it('any template ends in a document or in problems with a place', () => {
  const piece = fc.oneof(
    fc.constantFrom(
      '{{v}}',
      '{{#if v}}',
      '{{/if}}',
      '{{else}}',
      '{{#each l}}',
      '{{/each}}',
      '{{> p}}',
      '\n',
      '  ',
      '- ',
      'a: ',
      '"',
      "'",
      '|',
      '{{~v~}}',
      '{{!x}}',
      '\\{{',
      '[',
      '}',
      '*a',
      '&a ',
    ),
    fc.string({ maxLength: 4 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 14 }), anyText, (pieces, v) => {
      const source = pieces.join('');
      const result = renderYaml(setOf({ t: source, p: 'q: {{v}}\n' }), 't', { v, l: [v, 1] });
      if ('document' in result) return;
      const lines = source.split(/\r\n?|\n/).length;
      for (const { file, line, col } of result.problems) {
        expect(['t', 'p']).toContain(file);
        expect(line).toBeLessThanOrEqual(lines + 2);
        expect(col).toBeGreaterThanOrEqual(line === 0 ? 0 : 1);
      }
    }),
    { numRuns: 3000 },
  );
});
