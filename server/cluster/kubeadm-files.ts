import { dump } from 'js-yaml';
import { formatProblem, type Problem } from '../document/problem.ts';
import { isRecord } from '../document/shape.ts';
import { RailheadError } from '../errors.ts';
import { renderYaml } from '../templating/render-yaml.ts';
import type { TemplateSet } from '../templating/template-set.ts';
import { factsOf, kubeadmValues, type ValuesInput } from './kubeadm-values.ts';
import type { ClusterSecrets } from './secrets.ts';

/** What a host does, and with what. Paths as `railhead-node` unpacks them. */
export interface KubeadmFiles {
  /** For `--config`: documents of YAML. */
  config: string;
  /** `pki/`, `manifests/` and `etc/` go to /etc/kubernetes before, `after/` when kubeadm has succeeded. */
  files: { path: string; content: string; mode?: number }[];
}

export interface FilesInput extends ValuesInput {
  action: 'init' | 'join';
  pki: Pick<ClusterSecrets, 'ca' | 'etcdCa' | 'frontProxyCa' | 'serviceAccount'>;
}

/** Makes what kubeadm is given, from templates. Throws when one of them is wrong. */
export function kubeadmFiles(templates: TemplateSet, input: FilesInput): KubeadmFiles {
  const { action, host, cluster, pki } = input;
  const facts = factsOf(host, cluster);
  const values = kubeadmValues(input);
  const render = (name: string, more: Record<string, unknown> = {}) =>
    rendered(templates, nameOf(templates, host.templates.kubeadm, name), { ...values, ...more });
  const files: KubeadmFiles['files'] = facts.isControlPlane ? pkiFiles(pki) : [];
  const yaml = (path: string, value: unknown) => files.push({ path, content: dump(value) });

  if (facts.encryptSecrets) yaml('etc/railhead/encryption.yaml', render('encryption'));
  if (facts.audit !== undefined) {
    yaml('etc/railhead/audit-policy.yaml', facts.audit.policy ?? render('audit-policy'));
  }
  facts.patches.forEach(({ target, type = 'strategic', patch }, index) => {
    // kubeadm takes them in the order of their names.
    yaml(`etc/railhead/patches/${target}${String(index).padStart(3, '0')}+${type}.yaml`, patch);
  });
  if (facts.hasKubeVip) {
    const kubeVip = values.kubeVip as Record<string, unknown>;
    yaml('manifests/kube-vip.yaml', render('kube-vip', { kubeVip: kubeVipNow(kubeVip, action) }));
    if (action === 'init') yaml('after/manifests/kube-vip.yaml', render('kube-vip'));
  }
  const documents =
    action === 'init'
      ? [render('init'), render('cluster'), { ...render('kubelet'), ...facts.kubelet }]
      : [render('join')];
  return { config: documents.map((document) => dump(document)).join('---\n'), files };
}

/** Until `kubeadm init` is through, the administrator it makes has no rights: only this one can hold the lease. */
function kubeVipNow(kubeVip: Record<string, unknown>, action: 'init' | 'join'): Record<string, unknown> {
  return action === 'init' ? { ...kubeVip, kubeconfig: '/etc/kubernetes/super-admin.conf' } : kubeVip;
}

function pkiFiles({ ca, etcdCa, frontProxyCa, serviceAccount }: FilesInput['pki']): KubeadmFiles['files'] {
  const pair = (path: string, { certificate, key }: { certificate: string; key: string }, suffix = 'crt') => [
    { path: `pki/${path}.${suffix}`, content: certificate, mode: 0o644 },
    { path: `pki/${path}.key`, content: key },
  ];
  return [
    ...pair('ca', ca),
    ...pair('etcd/ca', etcdCa),
    ...pair('front-proxy-ca', frontProxyCa),
    ...pair('sa', serviceAccount, 'pub'),
  ];
}

/** A profile's own one, if there is one of that name. */
function nameOf(templates: TemplateSet, own: string | undefined, name: string): string {
  const wanted = `kubeadm/${own}.${name}.yaml`;
  return own !== undefined && templates.has(wanted) ? wanted : `kubeadm/${name}.yaml`;
}

function rendered(
  templates: TemplateSet,
  name: string,
  values: Record<string, unknown>,
): Record<string, unknown> {
  const result = renderYaml(templates, name, values);
  if ('problems' in result) throw failed(result.problems);
  const { value } = result.document;
  if (isRecord(value)) return value;
  throw new RailheadError('RH_TEMPLATE_FAILED', `templates/${name} is no mapping.`);
}

function failed(problems: readonly Problem[]): RailheadError {
  return new RailheadError('RH_TEMPLATE_FAILED', problems.map(formatProblem).join('\n'), {
    hint: 'Correct the template; the host asks again by itself.',
  });
}
