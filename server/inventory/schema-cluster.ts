import Type, { type Static } from 'typebox';
import { checked } from '../document/shape.ts';
import { Kubeadm } from './schema-kubeadm.ts';
import { Cidrs, closed, layered, NAME, Name, Version } from './schema-parts.ts';

/** The shape of a cluster: what it runs, how it is begun, what is installed on it. */

export const Rollout = Type.Object(
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

export const Addon = Type.Object(
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

export const PipelineStep = Type.Object(
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

export const Pipeline = Type.Object(
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

export const KubeVip = Type.Object(
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

export type Cluster = Static<typeof Cluster>;
export type Rollout = Static<typeof Rollout>;
export type Addon = Static<typeof Addon>;
export type KubeVip = Static<typeof KubeVip>;
export type Pipeline = Static<typeof Pipeline>;
export type PipelineStep = Static<typeof PipelineStep>;
