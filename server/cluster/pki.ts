import { createHash, createPrivateKey, createPublicKey, type webcrypto, X509Certificate } from 'node:crypto';
// @peculiar/x509 builds on a container that wants this to be there first.
import 'reflect-metadata';
import * as x509 from '@peculiar/x509';

/** Certificates and keys of clusters, all on P-256. */
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
/** Machines with a dead clock battery boot in the past: nothing they must trust may be "not yet valid" there. */
const NOT_BEFORE = new Date('2020-01-01T00:00:00Z');
const AUTHORITY_YEARS = 10;

/** A certificate or public key, and the private key that belongs to it; PEM. */
export interface KeyPair {
  certificate: string;
  key: string;
}

/** A certificate authority that signs for one purpose of one cluster. */
export async function makeAuthority(commonName: string, now: Date): Promise<KeyPair> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const notAfter = new Date(now);
  notAfter.setUTCFullYear(now.getUTCFullYear() + AUTHORITY_YEARS);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: randomSerial(),
    name: `CN=${commonName}`,
    notBefore: NOT_BEFORE,
    notAfter,
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      // What kubeadm gives its own.
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.digitalSignature |
          x509.KeyUsageFlags.keyEncipherment |
          x509.KeyUsageFlags.keyCertSign,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      new x509.SubjectAlternativeNameExtension([{ type: 'dns', value: commonName }]),
    ],
  });
  return { certificate: pem(certificate), key: await exportKey(keys.privateKey) };
}

export interface ClientRequest {
  commonName: string;
  /** Groups, to Kubernetes. */
  organisation: string;
  notAfter: Date;
}

/** A certificate that a person or program shows to the Kubernetes API. */
export async function issueClientCertificate(authority: KeyPair, request: ClientRequest): Promise<KeyPair> {
  const issuer = new x509.X509Certificate(authority.certificate);
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: randomSerial(),
    subject: [{ O: [request.organisation] }, { CN: [request.commonName] }],
    issuer: issuer.subjectName.toJSON(),
    notBefore: NOT_BEFORE,
    notAfter: request.notAfter,
    publicKey: keys.publicKey,
    ...(await signerOf(authority)),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.clientAuth]),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  });
  return { certificate: pem(certificate), key: await exportKey(keys.privateKey) };
}

/** A key pair that is no certificate: what service-account tokens are signed with. */
export async function makeKeys(): Promise<KeyPair> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const spki = await crypto.subtle.exportKey('spki', keys.publicKey);
  return {
    certificate: `${x509.PemConverter.encode(spki, 'PUBLIC KEY')}\n`,
    key: await exportKey(keys.privateKey),
  };
}

/** What `kubeadm join` pins the authority by: `sha256:` and the hash of its public key. */
export function pinOf(certificate: string): string {
  const spki = createPublicKey(certificate).export({ type: 'spki', format: 'der' });
  return `sha256:${createHash('sha256').update(spki).digest('hex')}`;
}

export function expiryOf(certificate: string): Date {
  return new Date(new X509Certificate(certificate).validTo);
}

/** Why this can't be an authority of a cluster, or `undefined`. What kubeadm and Kubernetes accept, passes. */
export function authorityFault({ certificate, key }: KeyPair, now: Date): string | undefined {
  try {
    const parsed = new X509Certificate(certificate);
    if (!parsed.ca) return 'its certificate is not that of an authority';
    const type = parsed.publicKey.asymmetricKeyType;
    if (type !== 'ec' && type !== 'rsa') return `its key is ${type}; kubeadm takes EC and RSA only`;
    if (!parsed.checkPrivateKey(createPrivateKey(key))) return 'its key does not belong to its certificate';
    return isOver(parsed, now) ? `its certificate expired on ${isoDay(new Date(parsed.validTo))}` : undefined;
  } catch {
    return 'its certificate or its key can not be read';
  }
}

/** Why this is no pair of keys, or `undefined`. */
export function keysFault({ certificate, key }: KeyPair): string | undefined {
  try {
    const own = createPublicKey(createPrivateKey(key) as never).export({ type: 'spki', format: 'der' });
    const given = createPublicKey(certificate).export({ type: 'spki', format: 'der' });
    return own.equals(given) ? undefined : 'its private key does not belong to its public key';
  } catch {
    return 'one of its keys can not be read';
  }
}

export function isoDay(date: Date): string {
  return date.toISOString().slice(0, 10);
}

function isOver(certificate: X509Certificate, now: Date): boolean {
  return new Date(certificate.validTo) <= now;
}

/** Authorities that were imported may be of another kind than ours. */
async function signerOf({ key }: KeyPair) {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = createPrivateKey(key);
  const curve = { prime256v1: 'P-256', secp384r1: 'P-384', secp521r1: 'P-521' }[details?.namedCurve ?? ''];
  const algorithm =
    type === 'rsa'
      ? { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
      : { name: 'ECDSA', namedCurve: curve ?? 'P-256', hash: curve === 'P-384' ? 'SHA-384' : 'SHA-256' };
  const der = createPrivateKey(key).export({ type: 'pkcs8', format: 'der' });
  const signingKey = await crypto.subtle.importKey('pkcs8', new Uint8Array(der), algorithm, false, ['sign']);
  return { signingKey, signingAlgorithm: algorithm };
}

function pem(certificate: x509.X509Certificate): string {
  return `${certificate.toString('pem')}\n`;
}

function randomSerial(): string {
  // Positive, and never empty after leading zeros are dropped.
  return `01${Buffer.from(crypto.getRandomValues(new Uint8Array(15))).toString('hex')}`;
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  const der = await crypto.subtle.exportKey('pkcs8', key);
  return `${x509.PemConverter.encode(der, 'PRIVATE KEY')}\n`;
}
