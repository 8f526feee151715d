/** One line of a comparison: kept (` `), only in the first text (`-`) or only in the second (`+`). */
export interface DiffLine {
  sign: ' ' | '-' | '+';
  text: string;
}

/** Compares two texts line by line, by the longest lines that both have in the same order. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < Math.min(a.length, b.length) - start && a.at(-1 - end) === b.at(-1 - end)) end++;
  const kept = (text: string): DiffLine => ({ sign: ' ', text });
  return [
    ...a.slice(0, start).map(kept),
    ...diffMiddle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...(end === 0 ? [] : a.slice(-end).map(kept)),
  ];
}

/** Only what changed, with some lines around it; a line `@@` stands for what is left out. */
export function formatDiff(lines: readonly DiffLine[], around = 3): string[] {
  const isNear = lines.map((_line, at) =>
    lines.slice(Math.max(0, at - around), at + around + 1).some(({ sign }) => sign !== ' '),
  );
  return lines.flatMap(({ sign, text }, at) => {
    if (isNear[at]) return [`${sign}${text}`];
    return at > 0 && isNear[at - 1] ? ['@@'] : [];
  });
}

/** Longest common subsequence; what differs in a configuration is short, so its square is small. */
function diffMiddle(a: readonly string[], b: readonly string[]): DiffLine[] {
  const width = b.length + 1;
  const longest = new Uint32Array((a.length + 1) * width);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      longest[i * width + j] =
        a[i] === b[j]
          ? longest[(i + 1) * width + j + 1]! + 1
          : Math.max(longest[(i + 1) * width + j]!, longest[i * width + j + 1]!);
    }
  }
  const lines: DiffLine[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push({ sign: ' ', text: a[i]! });
      i++;
      j++;
    } else if (
      j >= b.length ||
      (i < a.length && longest[(i + 1) * width + j]! >= longest[i * width + j + 1]!)
    ) {
      lines.push({ sign: '-', text: a[i++]! });
    } else {
      lines.push({ sign: '+', text: b[j++]! });
    }
  }
  return lines;
}
