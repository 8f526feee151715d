/** What entries of a list are known by: a field, or the way partitions are told apart. */
export type ListKey = 'device' | 'name' | 'number or label' | 'path' | 'source' | 'url';

type Entry = Readonly<Record<string, unknown>>;

/** Two entries with the same key are the same entry; text is its own key. */
export function keyOf(entry: unknown, key: ListKey | undefined): string {
  if (typeof entry === 'string') return entry;
  const fields = entry as Entry;
  if (key === 'number or label') return partitionKey(fields);
  const value = key === undefined ? undefined : fields[key];
  return typeof value === 'string' ? value : '';
}

function partitionKey({ number, label }: Entry): string {
  if (typeof number === 'number' && number !== 0) return `number:${number}`;
  return typeof label === 'string' ? `label:${label}` : '';
}
