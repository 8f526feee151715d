import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/appliance.ts';

/** One config of the corpus in test/fixtures/ignition. */
export interface CorpusConfig {
  subject: string;
  name: string;
  /** The version of the spec it is written for; in `versions.json` what it says may be another one. */
  spec: string;
  text: string;
  /** Whether Ignition accepts it. */
  good: boolean;
}

/** As it is in a file: without `specs` it is for 3.3.0; without a version it gets that of the spec. */
interface Entry {
  name: string;
  good: boolean;
  specs?: string[];
  config?: { ignition?: object };
  text?: string;
}

const FOLDER = join(ROOT, 'test/fixtures/ignition');

export function readCorpus(): CorpusConfig[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith('.json'))
    .flatMap((file) => {
      const entries = JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Entry[];
      return entries.flatMap(({ name, good, specs = ['3.3.0'], config, text }) =>
        specs.map((spec) => ({
          subject: file.replace('.json', ''),
          name,
          spec,
          good,
          text: text ?? JSON.stringify({ ...config, ignition: { version: spec, ...config?.ignition } }),
        })),
      );
    });
}

export function describeConfig({ subject, name, spec }: CorpusConfig): string {
  return `${subject}: ${name} (${spec})`;
}
