import { describe, expect, it } from 'vitest';
import { BASE, lab, problemsOf } from './make.ts';

interface Case {
  what: string;
  text: string | Record<string, string>;
  /** What is said, without the place: that is in fixtures.test.ts. */
  says?: string[];
}

function check({ text, says = [] }: Case): void {
  expect(problemsOf(text).map((line) => line.replace(/^\S+ /, ''))).toEqual(says);
}

const UUID = '4c4c4544-0042-3510-8052-b4c04f384332';
const SWAPPED = '44454c4c-4200-1035-8052-b4c04f384332';
const cluster = (keys: string): string => lab().replace('kubernetes: 1.36.4, containerd: 2.1.5', keys);
const host = (keys: string): string => lab(`{name: n2, pool: workers, serial: X, ${keys}}`);
const control = (count: number, extra = ''): string =>
  `${BASE.replace('{name: lab,', `{name: lab, ${extra}`)}hosts:\n${Array.from({ length: count }, (_, n) => `  - {name: n${n}, pool: control, serial: S${n}, disk: {serial: D}}`).join('\n')}\n`;

describe('what is given twice', () => {
  it.each<Case>([
    {
      what: 'nothing',
      text: lab(
        '{name: n2, pool: workers, macs: [52:54:00:12:34:02], uuid: 4c4c4544-0042-3510-8052-b4c04f384333, serial: B, ip: 10.0.0.2}',
      ),
    },
    {
      what: 'a name in two files',
      text: { 'a.yaml': lab(), 'b.yaml': 'hosts: [{name: n1, pool: workers, serial: X}]' },
      says: ['error: host "n1": the name "n1" is already used by host "n1" at a.yaml:8:12'],
    },
    {
      what: 'a name of every kind',
      text: {
        'a.yaml': lab(),
        'b.yaml':
          'clusters: [{name: lab, kubernetes: 1.36.4}]\nprofiles: [{name: flatcar, os: flatcar}]\npools: [{name: workers, profile: flatcar}]',
      },
      says: [
        'error: cluster "lab": the name "lab" is already used by cluster "lab" at a.yaml:2:19',
        'error: profile "flatcar": the name "flatcar" is already used by profile "flatcar" at a.yaml:3:19',
        'error: pool "workers": the name "workers" is already used by pool "workers" at a.yaml:6:12',
      ],
    },
    { what: 'a name in two kinds, which is fine', text: lab('{name: workers, pool: workers, serial: X}') },
    {
      what: 'a MAC address in another spelling',
      text: lab(
        '{name: n2, pool: workers, macs: [52-54-00-AB-CD-EF]}',
        '{name: n3, pool: workers, macs: [5254.00ab.cdef]}',
      ),
      says: [
        'error: host "n3": the MAC address 52:54:00:ab:cd:ef is already used by host "n2" at f.yaml:9:38',
      ],
    },
    {
      what: 'a MAC address in one host',
      text: lab('{name: n2, pool: workers, macs: [52:54:00:ab:cd:ef, 525400abcdef]}'),
      says: [
        'error: host "n2": the MAC address 52:54:00:ab:cd:ef is already used by this host itself at f.yaml:9:38',
      ],
    },
    {
      what: 'a UUID',
      text: lab(
        `{name: n2, pool: workers, uuid: ${UUID}}`,
        `{name: n3, pool: workers, uuid: ${UUID.toUpperCase()}}`,
      ),
      says: [`error: host "n3": the UUID ${UUID} is already used by host "n2" at f.yaml:9:37`],
    },
    {
      what: 'a UUID in the other byte order',
      text: lab(`{name: n2, pool: workers, uuid: ${UUID}}`, `{name: n3, pool: workers, uuid: ${SWAPPED}}`),
      says: [
        `error: host "n3": the UUID ${SWAPPED} is already used by host "n2" at f.yaml:9:37 (in the other byte order: ${UUID})`,
      ],
    },
    {
      what: 'a serial number',
      text: lab(
        '{name: n2, pool: workers, serial: 0042}',
        '{name: n3, pool: workers, serial: "0042"}',
        '{name: n4, pool: workers, serial: 42}',
      ),
      says: ['error: host "n3": the serial number 0042 is already used by host "n2" at f.yaml:9:39'],
    },
    {
      what: 'an IP address',
      text: lab(
        '{name: n2, pool: workers, serial: A, ip: fd02::1}',
        '{name: n3, pool: workers, serial: B, ip: "FD02:0::0001"}',
      ),
      says: ['error: host "n3": the IP fd02::1 is already used by host "n2" at f.yaml:9:46'],
    },
  ])('is found: $what', check);
});

describe('a reference', () => {
  it.each<Case>([
    {
      what: 'to what is in another file',
      text: { 'z.yaml': BASE, 'a.yaml': 'hosts: [{name: n1, pool: control, serial: X, disk: {serial: D}}]' },
    },
    {
      what: 'to a pool that is misspelt',
      text: lab('{name: n2, pool: worker, serial: X}'),
      says: ['error: host "n2": unknown pool "worker"; did you mean "workers"?'],
    },
    {
      what: 'to a pool like no other',
      text: lab('{name: n2, pool: storage, serial: X}'),
      says: ['error: host "n2": unknown pool "storage"; known: control, workers'],
    },
    {
      what: 'to a pool when there is none',
      text: 'hosts: [{name: n2, pool: storage, serial: X}]',
      says: ['error: host "n2": unknown pool "storage"; there is no pool at all'],
    },
    {
      what: 'to a cluster and a profile',
      text: { 'a.yaml': lab(), 'b.yaml': 'pools: [{name: edge, cluster: labs, profile: ubuntu}]' },
      says: [
        'error: pool "edge": unknown cluster "labs"; did you mean "lab"?',
        'error: pool "edge": unknown profile "ubuntu"; known: flatcar',
      ],
    },
  ])('is followed: $what', check);
});

describe('a host', () => {
  const DISK =
    'can name another disk at the next boot; use /dev/disk/by-id/…, /dev/disk/by-path/… or a selector';
  const installed = (keys: string): string =>
    host(keys).replace('os: flatcar}', 'os: flatcar, install: disk}').replace(', identity: boot', '');
  it.each<Case>([
    { what: 'by its UUID alone', text: lab(`{name: n2, pool: workers, uuid: ${UUID}}`) },
    {
      what: 'by nothing',
      text: lab('{name: n2, pool: workers, ip: 10.0.0.2}'),
      says: ['error: host "n2": nothing tells it from others: give it `macs`, `uuid` or `serial`'],
    },
    { what: 'that installs to /dev/disk/by-id', text: installed('disk: /dev/disk/by-id/wwn-0x5000') },
    { what: 'that installs to a selector', text: installed('disk: {minSizeGB: 100, maxSizeGB: 100}') },
    {
      what: 'that installs to nowhere',
      text: installed('ip: 10.0.0.2'),
      says: [
        'error: host "n2": "disk" is missing: its profile "flatcar" has `install: disk`, and which disk to write to is never guessed',
      ],
    },
    {
      what: 'that installs to a disk that can not be',
      text: installed('disk: {minSizeGB: 500, maxSizeGB: 100}'),
      says: ['error: host "n2": no disk can fit: minSizeGB 500 is more than maxSizeGB 100'],
    },
    ...['/dev/sda', '/dev/vdb', '/dev/nvme0n1', '/dev/xvda', '/dev/mmcblk0'].map((disk) => ({
      what: `that installs to ${disk}`,
      text: installed(`disk: ${disk}`),
      says: [`warning: host "n2": ${disk} ${DISK}`],
    })),
  ])('is judged: $what', check);
});

describe('a cluster', () => {
  const EVEN = (count: number) =>
    `warning: cluster "lab": an even number of control-plane hosts (${count}): it bears no more failures than ${count - 1}; use an odd number`;
  const ENDPOINT = (count: number) =>
    `error: cluster "lab": "endpoint" is missing: ${count} control-plane hosts need one (the virtual address or load balancer in front of them, such as 10.0.0.10:6443)`;
  it.each<Case>([
    { what: 'with one control-plane host', text: control(1) },
    { what: 'with three and an endpoint', text: control(3, 'endpoint: 10.0.0.10:6443,') },
    { what: 'with three and an endpoint of IPv6', text: control(3, 'endpoint: "[fd00::10]:6443",') },
    { what: 'with three and no endpoint', text: control(3), says: [ENDPOINT(3)] },
    { what: 'with two', text: control(2, 'endpoint: lab.example.org,'), says: [EVEN(2)] },
    { what: 'with two and no endpoint', text: control(2), says: [EVEN(2), ENDPOINT(2)] },
    {
      what: 'with three, of which one may be a member',
      text: control(3).replace('{name: control,', '{name: control, replicas: 1,'),
    },
    {
      what: 'with none',
      text: control(0).replace('hosts:', ''),
      says: [
        'warning: cluster "lab": it has no control-plane host yet: give it a pool with `role: control-plane`',
      ],
    },
    {
      what: 'with a port that can not be',
      text: cluster('kubernetes: 1.36.4, endpoint: "10.0.0.10:66666"'),
      says: [
        'error: cluster "lab": `endpoint`: expected an address or name, with an optional port, such as 10.0.0.10:6443 or [fd00::10]:6443, got "10.0.0.10:66666"',
      ],
    },
    {
      what: 'whose Kubernetes is too old',
      text: cluster('kubernetes: 1.18.0'),
      says: [
        'error: cluster "lab": Kubernetes 1.18.0 is too old; the oldest that Railhead can set up is 1.22.0',
      ],
    },
    {
      what: 'whose containerd is too old',
      text: cluster('kubernetes: 1.36.4, containerd: 1.7.28'),
      says: [
        'warning: cluster "lab": Kubernetes 1.36.4 needs a newer containerd than 1.7.28: 2.1.5 or later',
      ],
    },
    {
      what: 'that does not exist, whose containerd nobody can judge',
      text: cluster('kubernetes: 2.0.0, containerd: 1.0.0'),
      says: ['error: cluster "lab": Kubernetes 2.0.0 does not exist; versions start with 1'],
    },
  ])('is judged: $what', check);
});

describe('the networks of a cluster', () => {
  const networks = (keys: string, ip = '192.168.1.11'): string =>
    cluster(`kubernetes: 1.36.4, ${keys}`).replace('macs:', `ip: "${ip}", macs:`);
  it.each<Case>([
    { what: 'apart', text: networks('podCidr: 10.244.0.0/16, serviceCidr: 10.96.0.0/12') },
    {
      what: 'of both families',
      text: networks('podCidr: [10.244.0.0/16, fd00::/56], serviceCidr: [10.96.0.0/16, fd01::/112]'),
    },
    { what: 'of IPv6', text: networks('podCidr: fd00::/56, serviceCidr: fd01::/112') },
    { what: 'left out', text: networks('endpoint: lab.example.org') },
    {
      what: 'one in the other',
      text: networks('podCidr: 10.96.0.0/16, serviceCidr: 10.96.0.0/12'),
      says: ['error: cluster "lab": `serviceCidr` 10.96.0.0/12 overlaps with `podCidr` 10.96.0.0/16'],
    },
    {
      what: 'one in the default of the other',
      text: networks('podCidr: 10.100.0.0/16'),
      says: [
        'error: cluster "lab": `serviceCidr` 10.96.0.0/12 (the default) overlaps with `podCidr` 10.100.0.0/16',
      ],
    },
    {
      what: 'one in the default before it',
      text: networks('serviceCidr: 10.244.9.0/24'),
      says: [
        'error: cluster "lab": `serviceCidr` 10.244.9.0/24 overlaps with `podCidr` 10.244.0.0/16 (the default)',
      ],
    },
    {
      what: 'overlapping in IPv6 only',
      text: networks('podCidr: [10.244.0.0/16, fd00::/48], serviceCidr: [10.96.0.0/16, "fd00:0:0:1::/112"]'),
      says: ['error: cluster "lab": `serviceCidr` fd00:0:0:1::/112 overlaps with `podCidr` fd00::/48'],
    },
    {
      what: 'of different families',
      text: networks('podCidr: fd00::/56'),
      says: [
        'error: cluster "lab": `podCidr` fd00::/56 and `serviceCidr` 10.96.0.0/12 (the default) must both be IPv4, both IPv6, or lists of one of each',
      ],
    },
    {
      what: 'with a host inside',
      text: networks('podCidr: 10.9.0.0/16, serviceCidr: 10.96.0.0/12', '10.9.0.11'),
      says: [
        'error: host "n1": its address 10.9.0.11 lies inside the `podCidr` 10.9.0.0/16 of cluster "lab", which is not for machines',
      ],
    },
    {
      what: 'with a host inside a default',
      text: networks('endpoint: lab.example.org', '10.100.0.11'),
      says: [
        'error: host "n1": its address 10.100.0.11 lies inside the `serviceCidr` 10.96.0.0/12 (the default) of cluster "lab", which is not for machines',
      ],
    },
    {
      what: 'with a host inside that belongs to no cluster',
      text: `profiles: [{name: p, os: flatcar}]\npools: [{name: w, profile: p}]\nhosts: [{name: n1, pool: w, serial: X, ip: 10.244.0.1}]`,
    },
  ])('are judged: $what', check);
});

describe('a pool', () => {
  const workers = (keys: string): string =>
    lab('{name: n2, pool: workers, serial: X}').replace('{name: workers,', `{name: workers, ${keys},`);
  it.each<Case>([
    { what: 'with as many replicas as hosts', text: workers('replicas: 1') },
    {
      what: 'with more replicas than hosts',
      text: workers('replicas: 3'),
      says: ['warning: pool "workers": 3 replicas, but the number of hosts in this pool is 1'],
    },
    {
      what: 'of a control plane without a cluster',
      text: { 'a.yaml': lab(), 'b.yaml': 'pools: [{name: lost, role: control-plane, profile: flatcar}]' },
      says: ['error: pool "lost": "cluster" is missing: a pool with `role: control-plane` needs one'],
    },
  ])('is judged: $what', check);
});

describe('what templates and charts get', () => {
  const secret = (name: string): string =>
    `error: host "n2": "${name}" looks like a secret in plain text; write {fromFile: PATH} or {fromEnv: NAME}`;
  const chart = (values: string): string =>
    cluster(`kubernetes: 1.36.4, addons: [{name: argocd, values: ${values}}]`);
  it.each<Case>([
    ...[
      'password',
      'PASSWORD',
      'rootPassword',
      'root_passwd',
      'passphrase',
      'clientSecret',
      'registry_token',
      'privateKey',
      'private-key',
      'api_key',
      'secretKey',
    ].map((name) => ({ what: `a ${name}`, text: host(`variables: {${name}: abc}`), says: [secret(name)] })),
    { what: 'a secret of digits', text: host('variables: {token: 123456}'), says: [secret('token')] },
    {
      what: 'a secret deep inside',
      text: host('variables: {a: [{b: {password: x}}]}'),
      says: [secret('password')],
    },
    {
      what: 'secrets in a list',
      text: host('variables: {tokens: [x, y]}'),
      says: [secret('tokens'), secret('tokens')],
    },
    {
      what: 'a private key under any name',
      text: host('variables: {tls: "-----BEGIN EC PRIVATE KEY-----\\nMHc"}'),
      says: [secret('tls')],
    },
    {
      what: 'a secret of a cluster, a profile and a pool',
      text: lab()
        .replace('containerd:', 'variables: {token: a}, containerd:')
        .replace('os: flatcar', 'variables: {token: a}, os: flatcar')
        .replace('role: control-plane,', 'role: control-plane, variables: {token: a},'),
      says: ['cluster "lab"', 'profile "flatcar"', 'pool "control"'].map(
        (subject) =>
          `error: ${subject}: "token" looks like a secret in plain text; write {fromFile: PATH} or {fromEnv: NAME}`,
      ),
    },
    {
      what: 'a secret for a chart',
      text: chart('{configs: {adminPassword: x}}'),
      says: [
        'error: cluster "lab": "adminPassword" looks like a secret in plain text; write {fromFile: PATH} or {fromEnv: NAME}',
      ],
    },
    {
      what: 'the name of a Secret for a chart',
      text: chart('{existingSecret: argocd, imagePullSecrets: [x], tlsSecret: y}'),
    },
    {
      what: 'a reference to a secret',
      text: host('variables: {password: {fromFile: secrets/root}, token: {fromEnv: TOKEN}}'),
    },
    {
      what: 'what is no secret',
      text: host(
        'variables: {passwordHash: $6$x, sshPublicKey: ssh-ed25519 AAAA, tokenTtl: 5, maxTokens: 5, password: null, secret: false}',
      ),
    },
    {
      what: 'a number that is not what was written',
      text: host('variables: {version: 1.30, mode: 0644, id: 12345678901234567890, commit: 12e4}'),
      says: [
        'warning: host "n2": 1.30 is read as the number 1.3; put it in quotes to keep it as written',
        'warning: host "n2": 0644 is read as the number 644; put it in quotes to keep it as written',
        'warning: host "n2": 12345678901234567890 is read as the number 12345678901234567000; put it in quotes to keep it as written',
        'warning: host "n2": 12e4 is read as the number 120000; put it in quotes to keep it as written',
      ],
    },
    {
      what: 'a number for a chart that is not what was written',
      text: chart('{image: {tag: 1.30}}'),
      says: [
        'warning: cluster "lab": 1.30 is read as the number 1.3; put it in quotes to keep it as written',
      ],
    },
    {
      what: 'a number that JSON does not have',
      text: host('variables: {a: .inf, b: .nan}'),
      says: [
        'error: host "n2": .inf is not a number that can be kept; put it in quotes',
        'error: host "n2": .nan is not a number that can be kept; put it in quotes',
      ],
    },
    {
      what: 'numbers as they are written',
      text: host('variables: {a: 1.3, b: 644, c: -5, d: +5, e: 0x1f, f: 0o17, g: "1.30", h: 0}'),
    },
  ])('is judged: $what', check);
});

describe('how machines are known after a reboot', () => {
  const pools = (control: string, workers: string, hosts: string): string => `
clusters: [{name: lab, kubernetes: 1.36.4}]
profiles: [{name: ram, os: flatcar}, {name: disk, os: flatcar, install: disk}]
pools:
  - {name: control, cluster: lab, role: control-plane, profile: ram${control}}
  - {name: workers, cluster: lab, profile: ram${workers}}
  - {name: installed, cluster: lab, profile: disk}
  - {name: spare, profile: ram}
hosts: [{name: c1, pool: control, serial: A, disk: {serial: D}}, ${hosts}]
`;
  it.each<Case>([
    {
      what: 'by their disks',
      text: pools('', '', '{name: w1, pool: workers, serial: B, disk: {serial: E}}'),
    },
    {
      what: 'by nothing, and they may join again',
      text: pools('', ', identity: boot', '{name: w1, pool: workers, serial: B}'),
    },
    { what: 'by nothing, outside of a cluster', text: pools('', '', '{name: s1, pool: spare, serial: B}') },
    {
      what: 'by nothing',
      text: pools('', '', '{name: w1, pool: workers, serial: B}, {name: w2, pool: workers, serial: C}'),
      says: [
        'warning: pool "workers": w1, w2 will be unknown after a reboot: they run from RAM and keep nothing; give them `disk`, or the pool `identity: boot` if they may join again after every boot',
      ],
    },
    {
      what: 'by nothing, in a control plane',
      text: pools(', identity: boot', '', '{name: w1, pool: workers, serial: B, disk: {serial: E}}'),
      says: [
        'error: host "c1": `identity: boot` is only for workers: a control-plane host must keep its data',
      ],
    },
    {
      what: 'by nothing, although they are installed',
      text: pools('', '', '{name: i1, pool: installed, serial: B, disk: {serial: E}, identity: boot}'),
      says: ['error: host "i1": `identity: boot` is only for hosts that run from RAM'],
    },
  ])('is judged: $what', check);
});
