import { X509Certificate } from 'node:crypto';
import { isRecord } from '../document/shape.ts';
import { parseYaml } from '../document/yaml.ts';

/** What of a kubeconfig matters before it is used. */
export interface Kubeconfig {
  server: string;
  /** DER, in base64; `undefined` when it trusts what the machine trusts. */
  authority: string | undefined;
  /** Everything in it that nobody may see. */
  secrets: string[];
}

/** Reads the current context, or says what is wrong. It may name no other file: those would not be there. */
export function readKubeconfig(text: string): Kubeconfig | { fault: string } {
  const parsed = parseYaml('kubeconfig', text);
  if ('problem' in parsed) return { fault: 'the kubeconfig is no YAML' };
  const root = parsed.document.value;
  if (!isRecord(root)) return { fault: 'the kubeconfig is empty' };
  const context = named(root.contexts, root['current-context'], 'context');
  if (context === undefined) return { fault: 'the kubeconfig has no current context' };
  const cluster = named(root.clusters, context.cluster, 'cluster');
  const user = named(root.users, context.user, 'user') ?? {};
  if (typeof cluster?.server !== 'string') return { fault: 'the kubeconfig names no server' };
  const ca = cluster['certificate-authority-data'];
  let authority: string | undefined;
  try {
    authority = typeof ca === 'string' ? derOf(Buffer.from(ca, 'base64').toString('utf8')) : undefined;
  } catch {
    return { fault: 'the CA certificate in the kubeconfig is none' };
  }
  const secrets = ['client-key-data', 'token', 'password'].flatMap((key) => {
    const value = user[key];
    if (typeof value !== 'string' || value === '') return [];
    return key === 'client-key-data' ? [value, Buffer.from(value, 'base64').toString('utf8')] : [value];
  });
  return { server: cluster.server, authority, secrets };
}

function named(list: unknown, name: unknown, key: string): Record<string, unknown> | undefined {
  if (!Array.isArray(list)) return undefined;
  const found = list.find((item: unknown) => isRecord(item) && item.name === name) as unknown;
  const value = isRecord(found) ? found[key] : undefined;
  return isRecord(value) ? value : undefined;
}

export interface Expected {
  cluster: string;
  /** The cluster's CA certificate (PEM), when this appliance has made it. */
  authorityPem: string | undefined;
}

/** Why a kubeconfig is not for this cluster; `undefined` when nothing speaks against it. Pure. */
export function foreignness(kubeconfig: Kubeconfig, { cluster, authorityPem }: Expected): string | undefined {
  if (authorityPem === undefined || kubeconfig.authority === derOf(authorityPem)) return undefined;
  return `the kubeconfig is for another cluster: its CA certificate is not that of ${cluster}`;
}

function derOf(pem: string): string {
  return new X509Certificate(pem).raw.toString('base64');
}
