import { expect, it } from 'vitest';
import { validateIgnition } from '../../server/ignition/validate.ts';
import { describeConfig, readCorpus } from './corpus.ts';

const corpus = readCorpus();

it('has a corpus that is worth its name', () => {
  expect(corpus.length).toBeGreaterThan(220);
  expect(new Set(corpus.map(({ text }) => text)).size).toBe(corpus.length);
});

it.each([...new Set(corpus.map(({ subject }) => subject))])(
  'accepts the good and refuses the bad: %s',
  (subject) => {
    const wrong = corpus
      .filter((config) => config.subject === subject)
      .flatMap((config) => {
        const errors = validateIgnition(config.text).filter(({ severity }) => severity === 'error');
        if (config.good === (errors.length === 0)) return [];
        return [`${describeConfig(config)}: ${errors[0]?.message ?? 'accepted'}`];
      });
    expect(wrong).toEqual([]);
  },
);

it('says something, and where, about every bad one', () => {
  for (const config of corpus.filter(({ good }) => !good)) {
    for (const { path, message, line, col } of validateIgnition(config.text)) {
      expect({ about: describeConfig(config), path, message, line, col }).toEqual({
        about: describeConfig(config),
        path: expect.stringMatching(/^\$/),
        message: expect.stringMatching(/.{10}/),
        line: expect.any(Number),
        col: expect.any(Number),
      });
    }
  }
});
