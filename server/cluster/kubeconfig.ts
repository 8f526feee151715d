import { dump } from 'js-yaml';
import { type Endpoint, formatEndpoint } from './endpoint.ts';
import { issueClientCertificate, type KeyPair } from './pki.ts';

/** kubeadm binds this group to cluster-admin: what it may can be taken from it. */
export const ADMINS = 'kubeadm:cluster-admins';
/** Kubernetes lets this group do everything, whatever is bound: only until the other one is. */
export const MASTERS = 'system:masters';

export interface KubeconfigRequest {
  cluster: string;
  endpoint: Endpoint;
  ca: KeyPair;
  user: string;
  group: typeof ADMINS | typeof MASTERS;
  notAfter: Date;
}

/** A kubeconfig with a certificate of its own, which is good until `notAfter` and can't be taken back before. */
export async function makeKubeconfig(request: KubeconfigRequest): Promise<string> {
  const { cluster, endpoint, ca, user, group, notAfter } = request;
  const { certificate, key } = await issueClientCertificate(ca, {
    commonName: user,
    organisation: group,
    notAfter,
  });
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  const context = `${user}@${cluster}`;
  return dump(
    {
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: cluster,
          cluster: {
            server: `https://${formatEndpoint(endpoint)}`,
            'certificate-authority-data': base64(ca.certificate),
          },
        },
      ],
      contexts: [{ name: context, context: { cluster, user: context } }],
      'current-context': context,
      users: [
        {
          name: context,
          user: { 'client-certificate-data': base64(certificate), 'client-key-data': base64(key) },
        },
      ],
    },
    { lineWidth: -1 },
  );
}
