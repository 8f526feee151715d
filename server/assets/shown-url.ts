/** A URL without what may be a secret in it: passwords of a mirror, signed queries of a redirect. */
export function shownUrl(url: string | URL): string {
  const shown = new URL(url);
  shown.username = '';
  shown.password = '';
  shown.search = '';
  shown.hash = '';
  return shown.href;
}
