import { randomBytes } from 'node:crypto';
import Type, { type Static } from 'typebox';
import { authorityFault, type KeyPair, keysFault, makeAuthority, makeKeys } from './pki.ts';

const Pair = Type.Object({ certificate: Type.String(), key: Type.String() });

/** All that makes a cluster this cluster, and that nobody but the appliance and its control plane may know. */
export const ClusterSecrets = Type.Object({
  /** Signs nodes, the API server and everybody who asks it. */
  ca: Pair,
  etcdCa: Pair,
  /** Signs what the API server shows to those that extend it. */
  frontProxyCa: Pair,
  /** Service-account tokens are signed with it. */
  serviceAccount: Pair,
  /** 32 bytes in base64: Secrets are encrypted with it before they go to etcd. */
  encryptionKey: Type.String(),
});
export type ClusterSecrets = Static<typeof ClusterSecrets>;

const ENCRYPTION_KEY_BYTES = 32;

export const AUTHORITIES = {
  ca: 'cluster CA',
  etcdCa: 'etcd CA',
  frontProxyCa: 'front-proxy CA',
} as const satisfies Partial<Record<keyof ClusterSecrets, string>>;

/** Made once for each cluster, before its first machine exists: so its CA can be pinned from the beginning. */
export async function makeSecrets(now: Date): Promise<ClusterSecrets> {
  return {
    ca: await makeAuthority('kubernetes', now),
    etcdCa: await makeAuthority('etcd-ca', now),
    frontProxyCa: await makeAuthority('front-proxy-ca', now),
    serviceAccount: await makeKeys(),
    encryptionKey: randomBytes(ENCRYPTION_KEY_BYTES).toString('base64'),
  };
}

/** What is wrong with them: an expired authority, a key that doesn't fit. Never quotes one. */
export function secretsFaults(secrets: ClusterSecrets, now: Date): string[] {
  const faults: string[] = [];
  const note = (what: string, fault: string | undefined) => {
    if (fault !== undefined) faults.push(`${what}: ${fault}`);
  };
  for (const [name, what] of Object.entries(AUTHORITIES)) {
    note(what, authorityFault(secrets[name as keyof typeof AUTHORITIES] as KeyPair, now));
  }
  note('service-account keys', keysFault(secrets.serviceAccount));
  const bytes = Buffer.from(secrets.encryptionKey, 'base64').length;
  if (bytes !== ENCRYPTION_KEY_BYTES) note('encryption key', `it has ${bytes} bytes in place of 32`);
  return faults;
}
