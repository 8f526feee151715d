import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { validateIgnition } from '../../../server/ignition/validate.ts';
import { type CorpusConfig, describeConfig, readCorpus } from '../../ignition/corpus.ts';
import { damagedConfig, oddTextConfig } from '../../ignition/generate.ts';
import { ensureIgnitionFromGo } from '../../support/go-tools.ts';
import { debianJudge, type Judge, judge, type Verdict } from './judges.ts';

/** A config on which a judge and we disagree on purpose. */
interface Difference {
  configs: RegExp;
  why: string;
}

/** Debian's is of 2022. We follow what Flatcar ships (2.19 and newer), so that what passes here passes there. */
const DEBIAN_DIFFERS: Difference[] = [
  {
    configs: /^conflicts: (file|link|directory) that is a (unit|drop-in) /,
    why: 'older ones let storage and systemd write the same file',
  },
  {
    configs: /^urls: source 'http:\/\/(a\[b\]|\[foo\]|\[127\.0\.0\.1\])\/'/,
    why: 'older Go takes anything for an address in brackets',
  },
  { configs: /^versions: version '3\.4\.0'/, why: 'it knows 3.0.0 to 3.3.0 only' },
  { configs: /^versions: version '3\.4\.0-experimental'/, why: 'it was made while 3.4.0 was an experiment' },
];

const NEWEST_DIFFERS: Difference[] = [
  { configs: /^versions: version '3\.[56]\.0'/, why: 'it knows newer specs; Flatcar LTS ends at 3.4.0' },
];

/** The releases that the tables above were made with: there, a difference that is gone must leave its table. */
const KNOWN_JUDGES = /^2\.(14|26)\.0/;

const corpus = readCorpus();
const debian = await debianJudge();
const fromGo = await ensureIgnitionFromGo();
const newest: Judge | undefined = fromGo && {
  name: `coreos/ignition's ${fromGo.version}`,
  version: fromGo.version,
  program: fromGo.validate,
  env: {},
};

interface OurVerdict extends Verdict {
  text: string;
}

function ourVerdict(text: string): OurVerdict {
  const errors = validateIgnition(text).filter(({ severity }) => severity === 'error');
  return { text, good: errors.length === 0, errorPaths: errors.map(({ path }) => path) };
}

/** Compares, tells the result in a line or two, and returns the names of those where there is no excuse. */
async function compare(
  name: string,
  judgedBy: Judge,
  configs: readonly Pick<CorpusConfig, 'subject' | 'name' | 'spec' | 'text'>[],
  differences: readonly Difference[],
): Promise<string[]> {
  const theirs = await judge(
    judgedBy,
    configs.map(({ text }) => text),
  );
  const ours = configs.map(({ text }) => ourVerdict(text));
  const disagreeing = configs.flatMap((config, index) => {
    if (ours[index]!.good === theirs[index]!.good) return [];
    const about = describeConfig(config as CorpusConfig);
    return [`${about}: ${judgedBy.name} ${theirs[index]!.good ? 'accepts' : 'refuses'} it`];
  });
  const excused = differences.map(({ configs: pattern, why }) => ({
    why,
    count: disagreeing.filter((about) => pattern.test(about)).length,
  }));
  const placed = theirs.flatMap(({ good, errorPaths }, index) =>
    good || ours[index]!.good ? [] : errorPaths.map((path) => ours[index]!.errorPaths.includes(path)),
  );
  const agree = configs.length - disagreeing.length;
  const good = ours.filter((verdict) => verdict.good).length;
  console.log(
    [
      `${name} vs ${judgedBy.name} ignition-validate: ${configs.length} configs (${good} good, ${configs.length - good} bad), ${agree} agree`,
      ...excused.map(({ why, count }) => `  ${count} differ on purpose: ${why}`),
      `  of its ${placed.length} errors with a path, ${placed.filter(Boolean).length} are told at the same path here`,
    ].join('\n'),
  );
  // Of another release it isn't known which of them it still has.
  const isKnown = KNOWN_JUDGES.test(judgedBy.version);
  for (const { why, count } of isKnown ? excused : []) expect({ why, count }).not.toEqual({ why, count: 0 });
  return disagreeing.filter((about) => !differences.some(({ configs: pattern }) => pattern.test(about)));
}

describe.skipIf(debian === undefined)("Debian's ignition-validate", () => {
  it('agrees on every config of the corpus up to 3.3.0', async () => {
    const known = corpus.filter(({ spec }) => spec !== '3.4.0');
    expect(known.length).toBeGreaterThan(220);
    const differences = KNOWN_JUDGES.test(debian!.version)
      ? DEBIAN_DIFFERS
      : [...DEBIAN_DIFFERS, ...NEWEST_DIFFERS];
    expect(await compare('corpus', debian!, known, differences)).toEqual([]);
  });
});

describe.skipIf(newest === undefined)('the newest ignition-validate', () => {
  it('agrees on every config of the corpus', async () => {
    expect(await compare('corpus', newest!, corpus, NEWEST_DIFFERS)).toEqual([]);
  });

  it.each([
    { what: 'configs that were made up and damaged', arbitrary: damagedConfig },
    { what: 'texts that were put together from odd parts', arbitrary: oddTextConfig },
  ])(
    'agrees on $what',
    async ({ what, arbitrary }) => {
      const seed = Number(process.env.RAILHEAD_SEED ?? Date.now() % 2 ** 31);
      const numRuns = Number(process.env.RAILHEAD_RUNS ?? 400);
      const configs = fc.sample<unknown>(arbitrary, { seed, numRuns }).map((config, index) => ({
        subject: `RAILHEAD_SEED=${seed}`,
        name: String(index),
        spec: JSON.stringify(config).slice(0, 1000),
        text: JSON.stringify(config),
      }));
      expect(await compare(what, newest!, configs, [])).toEqual([]);
    },
    600_000,
  );
});
