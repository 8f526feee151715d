import { randomInt } from 'node:crypto';

/** What a machine shows the API the first time: `abcdef.0123456789abcdef`. Its first half is no secret. */
const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';
const ID_LENGTH = 6;
const SECRET_LENGTH = 16;

export const BOOTSTRAP_GROUP = 'system:bootstrappers:kubeadm:default-node-token';

export function makeBootstrapToken(): string {
  return `${random(ID_LENGTH)}.${random(SECRET_LENGTH)}`;
}

export function idOfToken(token: string): string {
  return token.slice(0, ID_LENGTH);
}

function random(length: number): string {
  return Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

export function secretNameOf(id: string): string {
  return `bootstrap-token-${id}`;
}

/** The token as the API keeps it. */
export function tokenSecret(token: string, host: string, expires: Date) {
  const id = idOfToken(token);
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: secretNameOf(id), namespace: 'kube-system' },
    type: 'bootstrap.kubernetes.io/token',
    stringData: {
      description: descriptionOf(host),
      'token-id': id,
      'token-secret': token.slice(ID_LENGTH + 1),
      // Without a fraction: Kubernetes wants RFC 3339 as it writes it.
      expiration: `${expires.toISOString().slice(0, 19)}Z`,
      'usage-bootstrap-authentication': 'true',
      'usage-bootstrap-signing': 'true',
      'auth-extra-groups': BOOTSTRAP_GROUP,
    },
  };
}

export function descriptionOf(host: string): string {
  return `made by Railhead for ${host}`;
}
