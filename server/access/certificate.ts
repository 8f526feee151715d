import type { webcrypto } from 'node:crypto';
import { isIP } from 'node:net';
// @peculiar/x509 builds on a container that wants this to be there first.
import 'reflect-metadata';
import * as x509 from '@peculiar/x509';
import { readIfThere, writeSecretFile } from '../secret-file.ts';
import { authorityFiles } from './key-files.ts';

/**
 * The appliance's own certificate authority and the certificate it serves HTTPS with. Machines and the command line
 * are given the authority's certificate; its key never leaves the keys folder.
 */
const ALGORITHM = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const;
const DAY = 86_400_000;
const AUTHORITY_DAYS = 20 * 365;
const SERVER_DAYS = 397;
/** Machines with a dead clock battery boot in the past: nothing they must trust may be "not yet valid" there. */
const NOT_BEFORE = new Date('2020-01-01T00:00:00Z');

export interface Authority {
  certificatePem: string;
  certificate: x509.X509Certificate;
  key: webcrypto.CryptoKey;
}

export interface ServerCertificate {
  cert: string;
  key: string;
}

/** The authority in the keys folder; made at the first start. */
export async function ensureAuthority(keysDir: string, now: Date): Promise<Authority> {
  const files = authorityFiles(keysDir);
  const certificatePem = await readIfThere(files.certificate);
  const keyPem = await readIfThere(files.key);
  if (certificatePem !== undefined && keyPem !== undefined) {
    return {
      certificatePem,
      certificate: new x509.X509Certificate(certificatePem),
      key: await importKey(keyPem),
    };
  }
  return makeAuthority(files, now);
}

async function makeAuthority(files: { certificate: string; key: string }, now: Date): Promise<Authority> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: randomSerial(),
    name: 'CN=Railhead appliance',
    notBefore: NOT_BEFORE,
    notAfter: new Date(now.getTime() + AUTHORITY_DAYS * DAY),
    signingAlgorithm: ALGORITHM,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const certificatePem = `${certificate.toString('pem')}\n`;
  // The key first: a certificate without its key would look like a finished authority.
  await writeSecretFile(files.key, await exportKey(keys.privateKey));
  await writeSecretFile(files.certificate, certificatePem);
  return { certificatePem, certificate, key: keys.privateKey };
}

/** A certificate for these names and addresses. Made anew at every start, so it is never stored and never stale. */
export async function issueServerCertificate(
  authority: Authority,
  names: readonly string[],
  now: Date,
): Promise<ServerCertificate> {
  const keys = await crypto.subtle.generateKey(ALGORITHM, true, ['sign', 'verify']);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: randomSerial(),
    subject: 'CN=railhead',
    issuer: authority.certificate.subject,
    notBefore: NOT_BEFORE,
    notAfter: new Date(now.getTime() + SERVER_DAYS * DAY),
    signingAlgorithm: ALGORITHM,
    publicKey: keys.publicKey,
    signingKey: authority.key,
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(
        names.map((value) => ({ type: isIP(value) === 0 ? 'dns' : 'ip', value })),
      ),
      await x509.AuthorityKeyIdentifierExtension.create(authority.certificate.publicKey),
    ],
  });
  return {
    cert: `${certificate.toString('pem')}\n${authority.certificatePem}`,
    key: await exportKey(keys.privateKey),
  };
}

function randomSerial(): string {
  // Positive, and never empty after leading zeros are dropped.
  return `01${Buffer.from(crypto.getRandomValues(new Uint8Array(15))).toString('hex')}`;
}

async function exportKey(key: webcrypto.CryptoKey): Promise<string> {
  const der = await crypto.subtle.exportKey('pkcs8', key);
  return `${x509.PemConverter.encode(der, 'PRIVATE KEY')}\n`;
}

function importKey(pem: string): Promise<webcrypto.CryptoKey> {
  return crypto.subtle.importKey('pkcs8', x509.PemConverter.decodeFirst(pem), ALGORITHM, true, ['sign']);
}
