/** Whether a mode looks like one that was meant in octal and written without the leading zero. */
export function looksDecimal(mode: number, isDirectory: boolean): boolean {
  const meant = asOctal(mode);
  return meant !== undefined && !isUsual(mode, isDirectory) && isUsual(meant, isDirectory);
}

function asOctal(mode: number): number | undefined {
  return /^[0-7]{1,4}$/.test(String(mode)) ? Number.parseInt(String(mode), 8) : undefined;
}

/** Whether nobody would be surprised by a mode. */
function isUsual(mode: number, isDirectory: boolean): boolean {
  if (mode === 0) return true;
  const had = { r: false, w: false, x: false };
  // From others over the group to the owner, who should have no less than those before.
  for (const bits of [mode & 7, (mode >> 3) & 7, (mode >> 6) & 7]) {
    const r = (bits & 4) !== 0;
    const w = (bits & 2) !== 0;
    const x = (bits & 1) !== 0;
    if ((had.r && !r) || (had.w && !w) || (had.x && !x)) return false;
    if (x && had.r && !had.x) return false;
    if ((w || x) && !r) return false;
    had.r ||= r;
    had.w ||= w;
    had.x ||= x;
  }
  if (!had.r) return false;
  if (isDirectory) return had.x && (mode & 0o4000) === 0 && ((mode & 0o3000) === 0 || had.w);
  if ((mode & 0o6000) !== 0 && (!had.x || (mode & 2) !== 0)) return false;
  return (mode & 0o1000) === 0;
}
