import { describe, expect, it } from 'vitest';
import { formatProblem } from '../../server/document/problem.ts';
import { collect } from '../../server/inventory/collect.ts';

const from = (...texts: string[]) =>
  collect(texts.map((text, index) => ({ name: `${index + 1}.yaml`, text })));
const names = (list: readonly { value: { name: string } }[]): string[] => list.map(({ value }) => value.name);

const HOST = '{name: n1, pool: workers, macs: [52:54:00:12:34:01]}';

describe('items', () => {
  it('of all files are put together, in the order of files and lines', () => {
    const { items, problems } = from(
      'hosts:\n  - {name: n2, pool: a}\n  - {name: n1, pool: a}\n',
      'pools: [{name: a, profile: p}]\nhosts: [{name: n3, pool: a}]\n',
    );
    expect(problems).toEqual([]);
    expect(names(items.hosts)).toEqual(['n2', 'n1', 'n3']);
    expect(names(items.pools)).toEqual(['a']);
  });

  it('know where they and each of their values stand', () => {
    const { items } = from('', `hosts:\n  - name: n1\n    pool: a\n    macs:\n      - 52:54:00:12:34:01\n`);
    const host = items.hosts[0]!;
    expect(host.place()).toEqual({ file: '2.yaml', line: 2, col: 5 });
    expect(host.place('macs', 0)).toEqual({ file: '2.yaml', line: 5, col: 9 });
    expect(formatProblem(host.error(['pool'], 'wrong'))).toBe('2.yaml:3:11: error: host "n1": wrong');
    expect(formatProblem(host.warning([], 'odd'))).toBe('2.yaml:2:5: warning: host "n1": odd');
  });

  it('are named as they are written, even by digits alone', () => {
    const { items, problems } = from('hosts: [{name: 007, pool: a}, {name: 7, pol: a}]');
    expect(names(items.hosts)).toEqual(['007']);
    expect(problems.map(({ subject }) => subject)).toEqual(['host "7"', 'host "7"']);
  });

  it.each(['', '# nothing yet\n', 'hosts:\n', 'hosts: []\n', '{}\n', '---\n'])('may be none: %j', (text) => {
    const { items, problems, incomplete } = from(text);
    expect({ hosts: items.hosts, problems, incomplete }).toEqual({
      hosts: [],
      problems: [],
      incomplete: false,
    });
  });

  it('that do not fit are left out, and the others kept', () => {
    const { items, problems, refused, incomplete } = from(`hosts: [${HOST}, {name: n2, pol: x}]`);
    expect(names(items.hosts)).toEqual(['n1']);
    expect(problems).toHaveLength(2);
    expect([...refused.host]).toEqual(['n2']);
    expect(incomplete).toBe(false);
  });
});

describe('what can not be read', () => {
  it.each<{ what: string; text: string; says: string }>([
    { what: 'broken YAML', text: 'hosts: @', says: '1.yaml:1:8: error: not valid YAML' },
    {
      what: 'an unknown list',
      text: 'host: []',
      says: '1.yaml:1:1: error: unknown list "host"; did you mean "hosts"?',
    },
    {
      what: 'a list of something else',
      text: 'kind: ConfigMap',
      says: '1.yaml:1:1: error: unknown list "kind"; known: clusters, profiles, pools, hosts',
    },
    {
      what: 'a mapping in place of a list',
      text: 'pools:\n  a: {}',
      says: '1.yaml:2:3: error: `pools`: expected a list (lines that start with "- name: …")',
    },
    {
      what: 'a list in place of the whole',
      text: '- a',
      says: '1.yaml:1:1: error: expected the lists clusters, profiles, pools, hosts, got a list; move the file out of this folder if it is no inventory',
    },
    {
      what: 'a pool without a name',
      text: 'pools: [{profile: p}]',
      says: '1.yaml:1:9: error: pools[0]: "name" is missing',
    },
  ])('may hold any name, so that no reference is called unknown: $what', ({ text, says }) => {
    const { problems, incomplete } = from(text);
    expect(formatProblem(problems[0]!)).toContain(says);
    expect(incomplete).toBe(true);
  });

  it('is a host without a name, to which nothing refers', () => {
    expect(from('hosts: [{pool: a}]').incomplete).toBe(false);
  });
});
