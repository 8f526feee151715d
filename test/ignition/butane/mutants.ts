import { parseYaml } from '../../../server/document/yaml.ts';
import { fixtures } from './fixtures.ts';

/** What a value is replaced by: right somewhere, and wrong elsewhere. */
const VALUES: readonly unknown[] = [
  ...[null, '', 0, 1, -1, true, false, [], {}, [null], [''], ['a', 'a'], 70000],
  ...[
    'x',
    '/x',
    '/x/',
    'yes',
    '0644',
    'http://x/y',
    'data:,x',
    'swap',
    'ext4',
    'none',
    'gzip',
    'a.service',
    'x\n',
  ],
];

export interface Mutant {
  /** Which example, and what was done to it. */
  name: string;
  /** JSON, which is YAML. */
  text: string;
}

/** Good examples with one thing changed, removed or doubled; always the same ones for the same seed. */
export function* mutants(seed: number, count: number): Generator<Mutant> {
  const random = randomBelow(seed);
  const examples = fixtures('good');
  for (let made = 0; made < count; ) {
    const { name, text } = examples[random(examples.length)]!;
    const parsed = parseYaml(name, text);
    if ('problem' in parsed) continue;
    const value = structuredClone(parsed.document.value);
    const slots = slotsIn(value).filter(({ key }) => key !== 'variant' && key !== 'version');
    if (slots.length === 0) continue;
    const slot = slots[random(slots.length)]!;
    const how = random(8) === 0 ? removeOrDouble(slot) : replace(slot, VALUES[random(VALUES.length)]);
    made++;
    yield { name: `${name}: ${how}`, text: JSON.stringify(value) };
  }
}

interface Slot {
  holder: Record<string | number, unknown>;
  key: string | number;
}

function slotsIn(value: unknown): Slot[] {
  if (typeof value !== 'object' || value === null) return [];
  const holder = value as Record<string | number, unknown>;
  const keys = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  return keys.flatMap((key) => [{ holder, key }, ...slotsIn(holder[key])]);
}

function replace({ holder, key }: Slot, by: unknown): string {
  holder[key] = structuredClone(by);
  return `${key} is ${JSON.stringify(by)}`;
}

function removeOrDouble({ holder, key }: Slot): string {
  if (Array.isArray(holder)) {
    holder.push(structuredClone(holder[Number(key)]));
    return `${key} is there twice`;
  }
  delete holder[key];
  return `${key} is missing`;
}

function randomBelow(seed: number): (limit: number) => number {
  let state = seed;
  return (limit) => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return (state >> 8) % limit;
  };
}
