import Type, { type Static, type TSchema } from 'typebox';
import { quote } from '../document/problem.ts';
import { checked, Shape } from '../document/shape.ts';
import { normaliseIp, parseCidr } from '../net/cidr.ts';
import { macFault, normaliseMac } from './mac.ts';
import { normaliseUuid } from './uuid.ts';

/**
 * The shape of `inventory/*.yaml`. This one definition gives the TypeScript types, the validation with its
 * messages (`expected`), and the JSON Schema that `railhead schema` prints for editors (`description`).
 */

const closed = { additionalProperties: false } as const;

const NAME = '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$';
const Name = Type.String({
  pattern: NAME,
  expected: 'a name of lower-case letters, digits and "-", at most 63 characters, such as "rack1-n3"',
});
const nameOf = (what: string) => Type.String({ pattern: NAME, expected: `the name of a ${what}` });
const HostName = Type.String({
  pattern: '^(?=.{1,253}$)[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$',
  expected: 'a host name of lower-case letters, digits, "-" and ".", such as "rack1-n3"',
  description: 'The host name; it is also the name of the Kubernetes node.',
});
const Version = Type.String({
  pattern: '^v?[0-9]+\\.[0-9]+\\.[0-9]+$',
  expected: 'a full version such as 1.36.4',
});

/** A secret is never written in the inventory, only where it is found. */
const SecretRef = Type.Union(
  [
    Type.Object(
      { fromFile: Type.String({ minLength: 1, description: 'Path; relative to this file.' }) },
      closed,
    ),
    Type.Object({ fromEnv: Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }) }, closed),
  ],
  { secret: true, expected: 'a reference to a secret: {fromFile: PATH} or {fromEnv: NAME}' },
);

const Variables = Type.Record(Type.String(), Type.Unknown(), {
  expected: 'a mapping of names to values',
  description: 'Values for templates. Later wins: cluster < profile < pool < host.',
});
const KernelArguments = Type.Array(
  Type.String({ pattern: '^[\\x21-\\x7e]+$', expected: 'one kernel argument without spaces' }),
  { description: 'Added to the kernel command line. In order: cluster, profile, pool, host.' },
);
const Snippets = Type.Array(Type.String({ minLength: 1, expected: 'the name of a template file' }), {
  description: 'Butane snippets merged on top. In order: cluster, profile, pool, host.',
});
const SshKeys = Type.Array(
  Type.String({
    pattern:
      '^(ssh-(ed25519|rsa|dss)|ecdsa-sha2-nistp(256|384|521)|sk-[a-z0-9@.-]+) [A-Za-z0-9+/]+={0,3}( [^\\x00-\\x1f]*)?$',
    expected: 'a public key as in ~/.ssh/id_ed25519.pub, such as "ssh-ed25519 AAAAC3… you@desk"',
  }),
  { description: 'Who may log in as "core". All of them: cluster, profile, pool, host.' },
);
const layered = {
  sshKeys: Type.Optional(SshKeys),
  variables: Type.Optional(Variables),
  kernelArguments: Type.Optional(KernelArguments),
  snippets: Type.Optional(Snippets),
};

const Cidr = checked(
  Type.String({ expected: 'a network such as 10.244.0.0/16' }),
  (text) => 'cidr' in parseCidr(text),
  (text) => {
    const parsed = parseCidr(text);
    return 'fault' in parsed ? `${parsed.fault}, got ${quote(text)}` : '';
  },
);
const familyOf = (cidr: string): 4 | 6 => (cidr.includes(':') ? 6 : 4);
const Cidrs = Type.Union(
  [
    Cidr,
    checked(
      Type.Array(Cidr, { minItems: 1, maxItems: 2, expected: 'a list of one IPv4 and one IPv6 network' }),
      ([a, b]) => a === undefined || b === undefined || familyOf(a) !== familyOf(b),
      () => 'expected one IPv4 and one IPv6 network, got two of a kind',
    ),
  ],
  { expected: 'a network such as 10.244.0.0/16, or a list of one IPv4 and one IPv6 network' },
);

const Mac = checked(
  Type.String({ expected: 'a MAC address such as 52:54:00:12:34:01' }),
  (text) => {
    const mac = normaliseMac(text);
    return mac !== undefined && macFault(mac) === undefined;
  },
  (text) => {
    const mac = normaliseMac(text);
    return mac === undefined ? '' : `${text} ${macFault(mac)}; give the card's own address`;
  },
);
const Uuid = checked(
  Type.String({
    expected: 'a UUID such as 4c4c4544-0042-3510-8052-b4c04f384332',
    description: 'The SMBIOS UUID, either byte order.',
  }),
  (text) => normaliseUuid(text) !== undefined,
);
const Ip = checked(
  Type.String({ expected: 'an IP address such as 10.0.0.11', description: 'Its address, if known.' }),
  (text) => normaliseIp(text) !== undefined,
  (text) =>
    text.includes('/')
      ? `expected an IP address without a prefix length, such as 10.0.0.11, got ${quote(text)}`
      : '',
);

const Domain = Type.String({
  pattern: '^~?([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.?)+$|^~\\.$',
  expected: 'a domain such as lab.example',
});
const Network = Type.Object(
  {
    prefixLength: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 128,
        description: 'With `ip`: its address is set by hand, without DHCP.',
      }),
    ),
    gateway: Type.Optional(Ip),
    dns: Type.Optional(Type.Array(Ip, { description: 'Name servers.' })),
    domains: Type.Optional(Type.Array(Domain, { description: 'Search domains.' })),
  },
  {
    ...closed,
    description: 'The network of its hosts; without it they use DHCP. A host wins over its pool.',
  },
);

const Rollout = Type.Object(
  {
    strategy: Type.Optional(
      Type.Enum(['PreferInPlace', 'InPlaceOnly', 'Reprovision', 'OnDelete'], {
        description: 'What to do when a change cannot be made in place. Default: PreferInPlace.',
      }),
    ),
    maxUnavailable: Type.Optional(
      Type.Union([Type.Integer({ minimum: 0 }), Type.String({ pattern: '^[0-9]{1,2}%$|^100%$' })], {
        expected: 'a number of machines or a percentage such as 25%',
        description: 'How many workers may be away at once. Default: 1.',
      }),
    ),
    maxFailures: Type.Optional(
      Type.Integer({
        minimum: 1,
        expected: 'a whole number of 1 or more',
        description: 'Failed machines that halt the rollout. Default: 1.',
      }),
    ),
    drainTimeoutSeconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        expected: 'a number of seconds, 1 or more',
        description: 'How long a drain may take. Default: 600.',
      }),
    ),
    allowDowntime: Type.Optional(
      Type.Boolean({ description: 'Let a control plane of one or two hosts be updated. Default: false.' }),
    ),
    paused: Type.Optional(Type.Boolean({ description: 'Start no update. Running ones finish.' })),
  },
  { ...closed, description: 'How updates are rolled out.' },
);

const Addon = Type.Object(
  {
    name: Name,
    version: Type.Optional(Version),
    enabled: Type.Optional(Type.Boolean({ description: 'Default: true.' })),
    values: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'Values for the Helm chart. A secret is {fromFile: PATH} or {fromEnv: NAME}.',
      }),
    ),
    chart: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*$',
        expected: 'the name of a Helm chart, such as argo-cd',
        description: "The chart's name in its repository. Default: the usual one.",
      }),
    ),
    repository: Type.Optional(
      checked(
        Type.String({
          pattern: '^(https|oci)://[^\\s@]+$',
          expected: 'an https:// or oci:// address without a password',
          description: 'Where the chart is fetched from. Default: its own project.',
        }),
        (text) => URL.canParse(text),
      ),
    ),
    path: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'A chart on this machine, in place of a repository; relative to the inventory folder.',
      }),
    ),
    namespace: Type.Optional(
      Type.String({
        pattern: NAME,
        expected: 'the name of a namespace',
        description: 'Default: the usual one.',
      }),
    ),
  },
  closed,
);

const PipelineStep = Type.Object(
  {
    name: Type.String({
      pattern: '^[a-z0-9][a-z0-9._-]{0,62}$',
      expected: 'the name of an executable in scripts/post-install, such as install-core',
    }),
    when: Type.Optional(
      Type.Enum(['api', 'node'], {
        description:
          'What it needs: the Kubernetes API, or a node that is Ready and takes pods. Default: node; untaint and Cilium: api.',
      }),
    ),
    timeoutSeconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 86_400,
        expected: 'a number of seconds from 1 to 86400',
        description: 'How long one run may take. Default: 900.',
      }),
    ),
    attempts: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 100,
        expected: 'a whole number from 1 to 100',
        description: 'Runs before it has failed. Default: 3.',
      }),
    ),
    retrySeconds: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 3600,
        expected: 'a number of seconds from 1 to 3600',
        description: 'The pause after the first failure; doubled after each. Default: 15.',
      }),
    ),
    values: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'Given to a step of your own as a file, by RAILHEAD_VALUES. Secrets as in add-ons.',
      }),
    ),
  },
  { ...closed, expected: 'a mapping with the name of a step' },
);

const Pipeline = Type.Object(
  {
    auto: Type.Optional(
      Type.Boolean({
        description: 'Start by itself. false: only by `railhead pipeline run`. Default: true.',
      }),
    ),
    untaint: Type.Optional(
      Type.Enum(['auto', 'always', 'never'], {
        description: 'Let pods run on control-plane nodes. auto: when there are no workers. Default: auto.',
      }),
    ),
    steps: Type.Optional(
      Type.Array(
        Type.Union([PipelineStep.properties.name, PipelineStep], {
          expected: 'the name of a step, or a mapping with its name',
        }),
        { description: 'In this order. Default: untaint, install-core, install-argo, bootstrap-apps.' },
      ),
    ),
    apps: Type.Optional(
      Type.Object(
        {
          repository: Type.String({
            pattern: '^[^\\s"\\\\]+$',
            expected: 'the address of a Git repository',
            description: 'The Git repository with the applications.',
          }),
          path: Type.Optional(
            Type.String({ pattern: '^[^\\s"\\\\]+$', description: 'The folder in it. Default: apps.' }),
          ),
          revision: Type.Optional(
            Type.String({ pattern: '^[^\\s"\\\\]+$', description: 'Branch, tag or commit. Default: HEAD.' }),
          ),
        },
        { ...closed, description: 'What Argo CD installs from then on (an app of apps).' },
      ),
    ),
  },
  { ...closed, description: 'What is done to the cluster after its machines are installed.' },
);

const Args = Type.Record(
  Type.String(),
  Type.Union([Type.String(), Type.Array(Type.String())], {
    expected: 'text, in quotes if it looks like something else, or a list of texts',
  }),
  { description: 'Flags without their dashes, and their values; a list gives a flag several times.' },
);
const FreeObject = Type.Record(Type.String(), Type.Unknown());

const Oidc = Type.Object(
  {
    issuerUrl: Type.String({ pattern: '^https://\\S+$', expected: 'an https:// address' }),
    clientId: Type.String({ minLength: 1 }),
    usernameClaim: Type.Optional(Type.String({ minLength: 1 })),
    usernamePrefix: Type.Optional(Type.String()),
    groupsClaim: Type.Optional(Type.String({ minLength: 1 })),
    groupsPrefix: Type.Optional(Type.String()),
  },
  { ...closed, description: 'Who may log in with tokens of an identity provider.' },
);

const Audit = Type.Object(
  {
    level: Type.Optional(
      Type.Enum(['None', 'Metadata', 'Request', 'RequestResponse'], {
        description: 'What is written down of every request. Default: Metadata.',
      }),
    ),
    policy: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: 'A whole policy (audit.k8s.io/v1), in place of one level for all.',
      }),
    ),
    maxAgeDays: Type.Optional(Type.Integer({ minimum: 1, description: 'Default: 30.' })),
  },
  { ...closed, description: 'An audit log, in /var/log/kubernetes/audit on every control-plane host.' },
);

/** What kubeadm can patch. */
export const PATCH_TARGETS = [
  'etcd',
  'kube-apiserver',
  'kube-controller-manager',
  'kube-scheduler',
  'kubeletconfiguration',
  'corednsdeployment',
] as const;

const Kubeadm = Type.Object(
  {
    sans: Type.Optional(
      Type.Array(
        Type.String({
          pattern: '^(\\*\\.)?[A-Za-z0-9:.-]+$',
          expected: 'a name or an address, such as api.example.org',
        }),
        { description: "More names and addresses for the API server's certificate." },
      ),
    ),
    oidc: Type.Optional(Oidc),
    audit: Type.Optional(Audit),
    apiServerArgs: Type.Optional(Args),
    controllerManagerArgs: Type.Optional(Args),
    schedulerArgs: Type.Optional(Args),
    etcdArgs: Type.Optional(Args),
    kubeletArgs: Type.Optional(Args),
    kubelet: Type.Optional(
      Type.Record(Type.String(), Type.Unknown(), {
        description: "Fields of every kubelet's KubeletConfiguration.",
      }),
    ),
    featureGates: Type.Optional(
      Type.Record(Type.String(), Type.Boolean(), { description: "kubeadm's own feature gates." }),
    ),
    imageRepository: Type.Optional(
      Type.String({
        pattern: '^[a-z0-9][a-z0-9._:/-]*$',
        expected: 'a registry such as registry.example.org/k8s',
        description: 'Where the images of the control plane are pulled from. Default: registry.k8s.io.',
      }),
    ),
    dnsDomain: Type.Optional(
      Type.String({
        pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$',
        expected: 'a domain such as cluster.local',
        description: 'The domain of services. Default: cluster.local.',
      }),
    ),
    encryptSecrets: Type.Optional(
      Type.Boolean({ description: 'Encrypt Secrets before they go to etcd. Default: true.' }),
    ),
    patches: Type.Optional(
      Type.Array(
        Type.Object(
          {
            target: Type.Enum([...PATCH_TARGETS]),
            type: Type.Optional(
              Type.Enum(['strategic', 'merge', 'json'], { description: 'Default: strategic.' }),
            ),
            patch: Type.Union([FreeObject, Type.Array(FreeObject)], {
              expected: 'a mapping; for `type: json`, a list of operations',
            }),
          },
          closed,
        ),
        { description: 'Patches for what kubeadm makes, in order.' },
      ),
    ),
  },
  { ...closed, description: 'How kubeadm sets the cluster up.' },
);

const KubeVip = Type.Object(
  {
    interface: Type.Optional(
      Type.String({
        pattern: '^[A-Za-z0-9._-]{1,15}$',
        expected: 'the name of an interface such as eno1',
        description: 'The card that bears the address. Default: that of the default route.',
      }),
    ),
    image: Type.Optional(
      Type.String({
        pattern: '^[a-z0-9][A-Za-z0-9._:/@-]*$',
        expected: 'an image such as example.org/kube-vip:v1.0.1',
      }),
    ),
  },
  {
    ...closed,
    description: 'Let the control-plane hosts bear the address of `endpoint` themselves, by kube-vip.',
  },
);

export const Cluster = Type.Object(
  {
    name: Name,
    kubernetes: Version,
    containerd: Type.Optional(Version),
    endpoint: Type.Optional(
      checked(
        Type.String({
          pattern: '^([A-Za-z0-9.-]+|\\[[0-9A-Fa-f:.]+\\])(:[0-9]{1,5})?$',
          expected: 'an address or name, with an optional port, such as 10.0.0.10:6443 or [fd00::10]:6443',
          description: 'Where the Kubernetes API is reached. Default: the only control-plane host.',
        }),
        (text) => URL.canParse(`https://${text}`),
      ),
    ),
    podCidr: Type.Optional(Cidrs),
    serviceCidr: Type.Optional(Cidrs),
    kubeVip: Type.Optional(KubeVip),
    kubeadm: Type.Optional(Kubeadm),
    addons: Type.Optional(Type.Array(Addon)),
    pipeline: Type.Optional(Pipeline),
    rollout: Type.Optional(Rollout),
    ...layered,
  },
  { ...closed, description: 'A Kubernetes cluster.' },
);

export const Profile = Type.Object(
  {
    name: Name,
    os: Type.Enum(['flatcar'], { description: 'The family of operating systems.' }),
    channel: Type.Optional(
      Type.Enum(['stable', 'beta', 'alpha', 'lts'], { description: 'Default: stable.' }),
    ),
    version: Type.Optional(
      Type.String({
        pattern: '^(current|[0-9]+\\.[0-9]+\\.[0-9]+)$',
        expected: '"current" or a version such as 4593.2.5',
        description: 'Default: current, which is resolved once and then pinned.',
      }),
    ),
    arch: Type.Optional(Type.Enum(['amd64', 'arm64'], { description: 'Default: amd64.' })),
    sysexts: Type.Optional(
      Type.Enum(['sysupdate', 'ignition'], {
        description:
          'How a host gets Kubernetes and containerd. sysupdate: systemd-sysupdate, from the feed. ignition: as files, with their hashes. Default: sysupdate.',
      }),
    ),
    install: Type.Optional(
      Type.Enum(['ram', 'disk'], {
        description:
          'ram: boot from the network every time. disk: install once, then boot from disk. Default: ram.',
      }),
    ),
    templates: Type.Optional(
      Type.Object(
        {
          ignition: Type.Optional(Type.String({ minLength: 1 })),
          menu: Type.Optional(Type.String({ minLength: 1 })),
          kubeadm: Type.Optional(Type.String({ minLength: 1 })),
        },
        { ...closed, description: 'Names of files in templates/ to use in place of the built-in ones.' },
      ),
    ),
    ...layered,
  },
  {
    ...closed,
    description: 'What machines run: operating system, architecture, kernel arguments, templates.',
  },
);

export const Pool = Type.Object(
  {
    name: Name,
    profile: nameOf('profile'),
    cluster: Type.Optional(nameOf('cluster')),
    role: Type.Optional(Type.Enum(['control-plane', 'worker'], { description: 'Default: worker.' })),
    replicas: Type.Optional(
      Type.Integer({
        minimum: 0,
        expected: 'a whole number of 0 or more',
        description: 'How many of its hosts, in name order, may be members. Default: all.',
      }),
    ),
    labels: Type.Optional(
      Type.Record(
        Type.String(),
        Type.String({
          pattern: '^(?=.{0,63}$)([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$',
          expected:
            'a label value: at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends',
        }),
        { description: 'Labels of the nodes.' },
      ),
    ),
    taints: Type.Optional(
      Type.Array(
        Type.Object(
          {
            key: Type.String({ minLength: 1 }),
            value: Type.Optional(Type.String()),
            effect: Type.Enum(['NoSchedule', 'PreferNoSchedule', 'NoExecute']),
          },
          closed,
        ),
      ),
    ),
    network: Type.Optional(Network),
    rollout: Type.Optional(Rollout),
    updatesDisabled: Type.Optional(Type.Boolean({ description: 'Never update machines of this pool.' })),
    ...layered,
  },
  { ...closed, description: 'A group of hosts with the same role and profile.' },
);

const Disk = Type.Union(
  [
    Type.String({ pattern: '^/dev/[^\\s]+$' }),
    Type.Object(
      {
        minSizeGB: Type.Optional(Type.Number({ exclusiveMinimum: 0, expected: 'a size in GB, such as 100' })),
        maxSizeGB: Type.Optional(Type.Number({ exclusiveMinimum: 0, expected: 'a size in GB, such as 100' })),
        rotational: Type.Optional(Type.Boolean()),
        model: Type.Optional(Type.String({ minLength: 1 })),
        serial: Type.Optional(Type.String({ minLength: 1 })),
        wwn: Type.Optional(Type.String({ minLength: 1 })),
      },
      {
        ...closed,
        minProperties: 1,
        expected: 'a selector with at least one of minSizeGB, maxSizeGB, rotational, model, serial and wwn',
      },
    ),
  ],
  {
    expected:
      'a device such as /dev/disk/by-id/… or a selector with minSizeGB, maxSizeGB, rotational, model, serial or wwn',
    description: 'Where to install. /dev/sdX moves between boots: use /dev/disk/by-id or by-path.',
  },
);

export const Host = Type.Object(
  {
    name: HostName,
    pool: nameOf('pool'),
    macs: Type.Optional(
      Type.Array(Mac, {
        minItems: 1,
        expected: 'a list of MAC addresses, such as [52:54:00:12:34:01]',
        description: 'MAC addresses of every card it may boot from, in any spelling.',
      }),
    ),
    uuid: Type.Optional(Uuid),
    serial: Type.Optional(Type.String({ minLength: 1, description: 'The SMBIOS serial number.' })),
    ip: Type.Optional(Ip),
    network: Type.Optional(Network),
    disk: Type.Optional(Disk),
    localBoot: Type.Optional(
      Type.Enum(['auto', 'exit', 'sanboot', 'localboot'], {
        description: 'How the boot loader hands over to the disk. Default: auto.',
      }),
    ),
    bmc: Type.Optional(
      Type.Object(
        {
          address: Type.String({ minLength: 1, description: 'Host name or address, or a Redfish URL.' }),
          protocol: Type.Optional(Type.Enum(['ipmi', 'redfish'])),
          username: Type.Optional(Type.String()),
          password: Type.Optional(SecretRef),
        },
        { ...closed, description: 'The management controller.' },
      ),
    ),
    ...layered,
  },
  { ...closed, description: 'A machine.' },
);

/** Kinds in the order in which they are laid over each other. */
export const SECTIONS = {
  clusters: { kind: 'cluster', shape: new Shape(Cluster) },
  profiles: { kind: 'profile', shape: new Shape(Profile) },
  pools: { kind: 'pool', shape: new Shape(Pool) },
  hosts: { kind: 'host', shape: new Shape(Host) },
} as const;

export type Section = keyof typeof SECTIONS;
export type Kind = (typeof SECTIONS)[Section]['kind'];

const list = <T extends TSchema>(item: T) => Type.Optional(Type.Array(item));
export const InventoryFile = Type.Object(
  { clusters: list(Cluster), profiles: list(Profile), pools: list(Pool), hosts: list(Host) },
  { ...closed, title: 'Railhead inventory' },
);

export type Cluster = Static<typeof Cluster>;
export type Profile = Static<typeof Profile>;
export type Pool = Static<typeof Pool>;
export type Host = Static<typeof Host>;
export type SecretRef = Static<typeof SecretRef>;
export type Network = Static<typeof Network>;
export type Rollout = Static<typeof Rollout>;
export type Addon = Static<typeof Addon>;
export type Kubeadm = Static<typeof Kubeadm>;
export type KubeVip = Static<typeof KubeVip>;
export type Pipeline = Static<typeof Pipeline>;
export type PipelineStep = Static<typeof PipelineStep>;
