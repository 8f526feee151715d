/** A socket for both families shows IPv4 addresses as ::ffff:10.0.0.5; everywhere else that is 10.0.0.5. */
export function plainAddress(shown: string): string {
  return shown.replace(/^::ffff:(?=\d+\.)/i, '');
}
