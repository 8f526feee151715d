/**
 * Which of two versions is newer, exactly as systemd on the hosts sees it (the UAPI group's version format): -1, 0 or
 * 1. A leading `v` says nothing. Note that there `1.33.0-rc.1` is newer than `1.33.0`.
 */
export function compareVersions(one: string, other: string): -1 | 0 | 1 {
  let a = one.replace(/^v(?=\d)/, '');
  let b = other.replace(/^v(?=\d)/, '');
  for (;;) {
    a = a.replace(INVALID, '');
    b = b.replace(INVALID, '');
    // The rest with the mark is the older one; for `~` also against nothing.
    for (const mark of ['~', '', '-', '^', '.']) {
      if (mark === '') {
        if (a === '' || b === '') return sign(a.length - b.length);
        continue;
      }
      const isMarked = [a.startsWith(mark), b.startsWith(mark)] as const;
      if (isMarked[0] !== isMarked[1]) return isMarked[0] ? -1 : 1;
      if (isMarked[0]) {
        a = a.slice(1);
        b = b.slice(1);
      }
    }
    const segment = /^\d/.test(a) || /^\d/.test(b) ? /^\d*/ : /^[A-Za-z]*/;
    const partA = segment.exec(a)?.[0] ?? '';
    const partB = segment.exec(b)?.[0] ?? '';
    const order = comparePart(partA, partB);
    if (order !== 0) return order;
    a = a.slice(partA.length);
    b = b.slice(partB.length);
  }
}

const INVALID = /^[^A-Za-z0-9~.^-]+/;

function comparePart(a: string, b: string): -1 | 0 | 1 {
  if (a === '' || b === '' || !/^\d/.test(a)) return a === b ? 0 : a < b ? -1 : 1;
  // Numbers of any length: the longer one is greater.
  const [one, other] = [a.replace(/^0+/, ''), b.replace(/^0+/, '')];
  if (one.length !== other.length) return sign(one.length - other.length);
  return one === other ? 0 : one < other ? -1 : 1;
}

function sign(difference: number): -1 | 0 | 1 {
  return difference === 0 ? 0 : difference < 0 ? -1 : 1;
}
