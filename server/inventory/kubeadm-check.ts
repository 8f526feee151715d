import type { Problem } from '../document/problem.ts';
import { contains, normaliseIp, parseCidr } from '../net/cidr.ts';
import type { Item, Items } from './collect.ts';
import { DEFAULT_POD_CIDR, DEFAULT_SERVICE_CIDR } from './compose.ts';
import { toList } from './normalise.ts';
import type { Cluster } from './schema.ts';

/** What kubeadm would refuse, or worse: would take and make something of that nobody meant. */
export function kubeadmFaults({ clusters, hosts }: Items): Problem[] {
  return clusters.flatMap((item) => [
    ...endpointFaults(item, hosts),
    ...kubeVipFaults(item),
    ...argFaults(item),
    ...auditFaults(item),
    ...patchFaults(item),
  ]);
}

/** The address of an endpoint, without its port; `undefined` for a name. */
export function addressOfEndpoint(endpoint: string | undefined): string | undefined {
  if (endpoint === undefined || !URL.canParse(`https://${endpoint}`)) return undefined;
  return normaliseIp(new URL(`https://${endpoint}`).hostname.replaceAll(/[[\]]/g, ''));
}

function endpointFaults(item: Item<Cluster>, hosts: Items['hosts']): Problem[] {
  const { endpoint, podCidr, serviceCidr, kubeVip } = item.value;
  const address = addressOfEndpoint(endpoint);
  if (address === undefined) return [];
  const networks = [
    ...toList(podCidr ?? DEFAULT_POD_CIDR).map((text) => ({ key: 'podCidr', text })),
    ...toList(serviceCidr ?? DEFAULT_SERVICE_CIDR).map((text) => ({ key: 'serviceCidr', text })),
  ];
  const inside = networks.find(({ text }) => {
    const parsed = parseCidr(text);
    return 'cidr' in parsed && contains(parsed.cidr, address);
  });
  const owner = kubeVip === undefined ? undefined : hosts.find(({ value }) => value.ip === address);
  return [
    ...(inside === undefined
      ? []
      : [
          item.error(
            ['endpoint'],
            `${address} lies inside \`${inside.key}\` ${inside.text}, which is not for machines`,
          ),
        ]),
    ...(owner === undefined
      ? []
      : [
          item.error(
            ['endpoint'],
            `${address} is the address of ${owner.subject}; kube-vip needs one that nobody has`,
          ),
        ]),
  ];
}

function kubeVipFaults(item: Item<Cluster>): Problem[] {
  const { kubeVip, endpoint } = item.value;
  if (kubeVip === undefined || addressOfEndpoint(endpoint) !== undefined) return [];
  const why = endpoint === undefined ? '"endpoint" is missing' : `"endpoint" is the name ${endpoint}`;
  return [item.error(['kubeVip'], `${why}: kube-vip needs the free address that it is to bear`)];
}

/** Flags that Railhead sets itself: given twice, nobody could tell which one holds. */
function reservedArgs({ kubeadm }: Cluster): Record<string, string> {
  return {
    ...(kubeadm?.encryptSecrets === false
      ? {}
      : { 'encryption-provider-config': 'set `encryptSecrets: false` to do without it' }),
    ...(kubeadm?.audit === undefined
      ? {}
      : Object.fromEntries(
          ['audit-policy-file', 'audit-log-path', 'audit-log-maxage'].map((name) => [name, 'use `audit`']),
        )),
    ...(kubeadm?.oidc === undefined
      ? {}
      : Object.fromEntries(
          [
            'issuer-url',
            'client-id',
            'username-claim',
            'username-prefix',
            'groups-claim',
            'groups-prefix',
          ].map((name) => [`oidc-${name}`, 'use `oidc`']),
        )),
  };
}

function argFaults(item: Item<Cluster>): Problem[] {
  const keys = [
    'apiServerArgs',
    'controllerManagerArgs',
    'schedulerArgs',
    'etcdArgs',
    'kubeletArgs',
  ] as const;
  const reserved = reservedArgs(item.value);
  return keys.flatMap((key) =>
    Object.keys(item.value.kubeadm?.[key] ?? {}).flatMap((name) => {
      const path = ['kubeadm', key, name];
      if (!/^[a-z0-9][A-Za-z0-9.-]*$/.test(name)) {
        return [item.error(path, `"${name}" is no name of a flag; write it without dashes before it`)];
      }
      const instead = key === 'apiServerArgs' ? reserved[name] : undefined;
      return instead === undefined ? [] : [item.error(path, `Railhead sets "${name}" itself; ${instead}`)];
    }),
  );
}

function auditFaults(item: Item<Cluster>): Problem[] {
  const audit = item.value.kubeadm?.audit;
  if (audit?.level === undefined || audit.policy === undefined) return [];
  return [item.error(['kubeadm', 'audit', 'level'], '`level` and `policy` say the same: give one of them')];
}

function patchFaults(item: Item<Cluster>): Problem[] {
  return (item.value.kubeadm?.patches ?? []).flatMap(({ type, patch }, index) => {
    if (Array.isArray(patch) === (type === 'json')) return [];
    const wanted = type === 'json' ? 'a list of operations' : 'a mapping';
    return [
      item.error(
        ['kubeadm', 'patches', index, 'patch'],
        `expected ${wanted} for \`type: ${type ?? 'strategic'}\``,
      ),
    ];
  });
}
