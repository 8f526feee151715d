import Type, { type Static, type TSchema } from 'typebox';
import { Shape } from '../document/shape.ts';
import { Cluster, Rollout } from './schema-cluster.ts';
import {
  closed,
  HostName,
  Ip,
  layered,
  Mac,
  Name,
  Network,
  nameOf,
  SecretRef,
  Uuid,
} from './schema-parts.ts';

/**
 * The shape of `inventory/*.yaml`. This one definition gives the TypeScript types, the validation with its
 * messages (`expected`), and the JSON Schema that `railhead schema` prints for editors (`description`).
 */

export {
  type Addon,
  Cluster,
  type KubeVip,
  type Pipeline,
  type PipelineStep,
  type Rollout,
} from './schema-cluster.ts';
export { type Kubeadm, PATCH_TARGETS } from './schema-kubeadm.ts';
export type { Network, SecretRef } from './schema-parts.ts';

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

/** How a machine is known again after a reboot. */
const Identity = Type.Enum(['kept', 'boot'], {
  description:
    'kept (default): the machine keeps its secret on its disk. boot: it keeps nothing and joins again after every boot; only for workers that run from RAM.',
});

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
    identity: Type.Optional(Identity),
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
    identity: Type.Optional(Identity),
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

export type Profile = Static<typeof Profile>;
export type Pool = Static<typeof Pool>;
export type Host = Static<typeof Host>;
