import { markerOf, withSecrets } from '../ignition/secrets.ts';
import type { ClusterSpec, HostSpec } from '../inventory/model.ts';
import type { TemplateSet } from '../templating/template-set.ts';
import { BOOTSTRAP_GROUP, descriptionOf } from './bootstrap-token.ts';
import { controlPlaneOf, endpointOf } from './endpoint.ts';
import { kubeadmFiles } from './kubeadm-files.ts';
import { pinOf } from './pki.ts';

export interface PreviewInput {
  host: HostSpec;
  cluster: ClusterSpec | undefined;
  hosts: readonly HostSpec[];
  /** Who has begun the cluster, if somebody has. */
  claim: { host: string; address: string } | undefined;
  /** That of its CA, if it has one already. */
  certificate: string | undefined;
  templates: TemplateSet;
}

/** What a host would be given for kubeadm, as one text; secrets are markers. Pure. */
export function previewKubeadm(input: PreviewInput): string {
  const { host, cluster, hosts, claim, certificate, templates } = input;
  if (cluster === undefined || !host.member) return `# none: ${host.name} is to be no member of a cluster\n`;
  const first = claim?.host ?? controlPlaneOf(cluster, hosts)[0]?.name;
  const action = host.name === first ? 'init' : 'join';
  const pair = (what: string) => ({ certificate: `<certificate: ${what}>`, key: markerOf(`key of ${what}`) });
  const endpoint = endpointOf(cluster, hosts, claim) ?? { host: 'address-of-the-first-host', port: 6443 };
  const { config, files } = kubeadmFiles(templates, {
    action,
    host,
    cluster,
    hosts,
    endpoint,
    caHash: certificate === undefined ? '<hash of the cluster CA>' : pinOf(certificate),
    pki: {
      ca: pair('cluster CA'),
      etcdCa: pair('etcd CA'),
      frontProxyCa: pair('front-proxy CA'),
      serviceAccount: pair('service accounts'),
    },
    variables: withSecrets(host.variables, undefined, 'variables'),
    resume: false,
    secrets: {
      encryptionKey: markerOf('encryption key'),
      bootstrapToken: markerOf('bootstrap token'),
      bootstrapTokens: [
        {
          token: markerOf('bootstrap token'),
          description: descriptionOf('each host that joins'),
          ttl: '24h0m0s',
          usages: ['signing', 'authentication'],
          groups: [BOOTSTRAP_GROUP],
        },
      ],
    },
  });
  const others = files.map(({ path, content }) => `# ${path}\n${content.trimEnd()}\n`);
  return [`# kubeadm ${action} --config config.yaml\n${config}`, ...others].join('---\n');
}
