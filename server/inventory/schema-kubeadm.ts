import Type, { type Static } from 'typebox';
import { closed } from './schema-parts.ts';

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

export const Kubeadm = Type.Object(
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

export type Kubeadm = Static<typeof Kubeadm>;
