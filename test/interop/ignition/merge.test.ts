import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mergeIgnition } from '../../../server/ignition/merge.ts';
import type { IgnitionConfig } from '../../../server/ignition/spec/schema.ts';
import { goodConfig } from '../../ignition/generate.ts';
import { ensureIgnitionFromGo } from '../../support/go-tools.ts';
import { mergeForReal } from './judges.ts';

const fromGo = await ensureIgnitionFromGo();

describe.skipIf(fromGo === undefined)("Ignition's own merge", () => {
  it('gives the same config', () => {
    const seed = Number(process.env.RAILHEAD_SEED ?? Date.now() % 2 ** 31);
    const pairs = fc.sample(fc.tuple(goodConfig, goodConfig), { seed, numRuns: 500 });
    const theirs = mergeForReal(fromGo!.merge, pairs);
    pairs.forEach(([parent, child], index) => {
      const ours = { ...mergeIgnition(parent, child) };
      // It reads every config as one of 3.4.0 before it merges.
      const newest: IgnitionConfig = { ...ours, ignition: { ...ours.ignition, version: '3.4.0' } };
      expect({ seed, index, config: plain(newest) }).toEqual({ seed, index, config: plain(theirs[index]) });
    });
    console.log(`merge vs coreos/ignition's ${fromGo!.version}: ${pairs.length} pairs of configs, all agree`);
  });
});

/** Go writes objects without content, and leaves out lists without. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value)
    .map(([key, inner]) => [key, plain(inner)] as const)
    .filter(([, inner]) => typeof inner !== 'object' || inner === null || Object.keys(inner).length > 0);
  return Object.fromEntries(entries);
}
