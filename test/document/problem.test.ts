import { describe, expect, it } from 'vitest';
import {
  formatPlace,
  formatProblem,
  hasErrors,
  type Problem,
  quote,
  sortProblems,
} from '../../server/document/problem.ts';

const problem = (file: string, line: number, col: number, extra: Partial<Problem> = {}): Problem => ({
  severity: 'error',
  file,
  line,
  col,
  subject: '',
  message: 'wrong',
  ...extra,
});

describe('a problem', () => {
  it('is one line that editors and terminals can jump to', () => {
    expect(formatProblem(problem('a.yaml', 3, 5))).toBe('a.yaml:3:5: error: wrong');
    expect(formatProblem(problem('a.yaml', 3, 5, { subject: 'host "n1"', severity: 'warning' }))).toBe(
      'a.yaml:3:5: warning: host "n1": wrong',
    );
  });

  it('about a whole file or folder has no line', () => {
    expect(formatPlace(problem('inventory', 0, 0))).toBe('inventory');
    expect(formatProblem(problem('inventory', 0, 0))).toBe('inventory: error: wrong');
  });

  it('is sorted by its place, lines as numbers', () => {
    const places = [problem('b', 1, 1), problem('a', 10, 1), problem('a', 9, 20), problem('a', 9, 3)];
    expect(sortProblems(places).map(formatPlace)).toEqual(['a:9:3', 'a:9:20', 'a:10:1', 'b:1:1']);
  });

  it('is an error or a warning', () => {
    expect(hasErrors([problem('a', 1, 1, { severity: 'warning' })])).toBe(false);
    expect(hasErrors([problem('a', 1, 1, { severity: 'warning' }), problem('a', 1, 1)])).toBe(true);
  });

  it('shows text of a file in quotes, on one line and not at length', () => {
    expect(quote('n1')).toBe('"n1"');
    expect(quote('a\nb\u001b[31m')).toBe('"a\\nb\\u001b[31m"');
    expect(quote('x'.repeat(1000))).toHaveLength(59);
  });
});
