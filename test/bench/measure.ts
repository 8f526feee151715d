/** Runs each candidate several times in turn, so that a busy moment of the machine hits them all; medians in ms. */
export async function interleaved<K extends string>(
  rounds: number,
  candidates: Record<K, () => unknown>,
): Promise<Record<K, number>> {
  const times = Object.fromEntries(Object.keys(candidates).map((name) => [name, []])) as unknown as Record<
    K,
    number[]
  >;
  for (let round = 0; round < rounds; round++) {
    for (const name of Object.keys(candidates) as K[]) {
      const start = performance.now();
      await candidates[name]();
      times[name].push(performance.now() - start);
    }
  }
  return Object.fromEntries(
    (Object.keys(times) as K[]).map((name) => [name, percentile(times[name], 50)]),
  ) as Record<K, number>;
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN;
}

export function report(rows: [string, string][]): void {
  const width = Math.max(...rows.map(([label]) => label.length));
  for (const [label, value] of rows) console.log(`  ${label.padEnd(width)}  ${value}`);
}

export const ms = (value: number): string => `${value.toFixed(value < 1 ? 2 : value < 10 ? 1 : 0)} ms`;
export const ratio = (value: number): string => `${value.toFixed(2)}x`;
