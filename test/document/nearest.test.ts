import { describe, expect, it } from 'vitest';
import { didYouMean, nearest } from '../../server/document/nearest.ts';

const KEYS = ['name', 'pool', 'macs', 'uuid', 'serial', 'ip', 'kernelArguments', 'control-plane', 'worker'];

describe('the nearest word', () => {
  it.each<{ slip: string; word: string; known: string | undefined }>([
    { slip: 'a letter that is missing', word: 'mac', known: 'macs' },
    { slip: 'a letter too many', word: 'pools', known: 'pool' },
    { slip: 'another letter', word: 'serisl', known: 'serial' },
    { slip: 'two letters swapped', word: 'contorl-plane', known: 'control-plane' },
    { slip: 'upper case', word: 'UUID', known: 'uuid' },
    { slip: 'several slips in a long word', word: 'kernalArgument', known: 'kernelArguments' },
    { slip: 'one of two letters', word: 'ib', known: 'ip' },
    { slip: 'nothing like it', word: 'location', known: undefined },
    { slip: 'a short word of other letters', word: 'foo', known: undefined },
    { slip: 'one letter', word: 'x', known: undefined },
    { slip: 'nothing at all', word: '', known: undefined },
  ])('is found despite $slip: $word is $known', ({ word, known }) => {
    expect(nearest(word, KEYS)).toBe(known);
  });

  it('is the nearest of several', () => {
    expect(nearest('worker1', ['worker3', 'workers', 'worker12', 'worker'])).toBe('worker3');
    expect(nearest('stabel', ['stale', 'stable'])).toBe('stable');
  });

  it('is never a word that has nothing in common', () => {
    expect(nearest('a', ['b', 'c'])).toBeUndefined();
    expect(nearest('A', ['b', 'a'])).toBe('a');
  });

  it('makes a question, or nothing', () => {
    expect(didYouMean('mac', KEYS)).toBe('; did you mean "macs"?');
    expect(didYouMean('location', KEYS)).toBe('');
  });
});
