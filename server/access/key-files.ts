import { join } from 'node:path';

/** What is in the keys folder, and under which names. */

/** Where the command line on the same machine finds the token. */
export function adminTokenFile(keysDir: string): string {
  return join(keysDir, 'admin-token');
}

export function authorityFiles(keysDir: string): { certificate: string; key: string } {
  return { certificate: join(keysDir, 'ca.pem'), key: join(keysDir, 'ca.key') };
}

/** What unseals the secrets in the database. */
export function vaultKeyFile(keysDir: string): string {
  return join(keysDir, 'vault.key');
}

/** What the sysext feed is signed with. */
export function feedKeyFile(keysDir: string): string {
  return join(keysDir, 'feed-signing.asc');
}
