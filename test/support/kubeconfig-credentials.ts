import { load } from 'js-yaml';

/** What a TLS client needs of a kubeconfig. */
export function readKubeconfigCredentials(text: string): { ca: string; cert: string; key: string } {
  const config = load(text) as {
    clusters: { cluster: Record<string, string> }[];
    users: { user: Record<string, string> }[];
  };
  const decode = (base64: string | undefined) => Buffer.from(base64 ?? '', 'base64').toString('utf8');
  return {
    ca: decode(config.clusters[0]?.cluster['certificate-authority-data']),
    cert: decode(config.users[0]?.user['client-certificate-data']),
    key: decode(config.users[0]?.user['client-key-data']),
  };
}
