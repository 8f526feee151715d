import type { Arch } from './arch.ts';
import type {
  Addon,
  Cluster,
  Host,
  Kubeadm,
  KubeVip,
  Network,
  Pipeline,
  Pool,
  Profile,
  Rollout,
} from './schema.ts';

/**
 * The inventory after validation: every default filled in, every spelling made one, every layer merged.
 * It is plain JSON: this is what a revision is, what is hashed, stored and compared.
 */
export interface Inventory {
  clusters: ClusterSpec[];
  profiles: ProfileSpec[];
  pools: PoolSpec[];
  hosts: HostSpec[];
}

export interface ClusterSpec {
  name: string;
  kubernetes: string;
  containerd?: string;
  endpoint?: string;
  podCidrs: string[];
  serviceCidrs: string[];
  kubeVip?: KubeVip;
  kubeadm?: Kubeadm;
  addons: Addon[];
  pipeline?: Pipeline;
  rollout: Required<Rollout>;
}

export interface ProfileSpec {
  name: string;
  os: Profile['os'];
  channel: NonNullable<Profile['channel']>;
  version: string;
  arch: Arch;
  install: NonNullable<Profile['install']>;
  sysexts: NonNullable<Profile['sysexts']>;
  templates: NonNullable<Profile['templates']>;
}

export interface PoolSpec {
  name: string;
  profile: string;
  cluster?: string;
  role: NonNullable<Pool['role']>;
  replicas?: number;
  labels: Record<string, string>;
  taints: NonNullable<Pool['taints']>;
  rollout: Required<Rollout>;
  updatesDisabled: boolean;
}

/** Everything that holds for one host, with what it gets from its pool, profile and cluster. */
export interface HostSpec {
  name: string;
  pool: string;
  profile: string;
  cluster?: string;
  role: PoolSpec['role'];
  /** False for a host beyond its pool's `replicas`, or whose pool has no cluster. */
  member: boolean;
  os: Omit<ProfileSpec, 'name' | 'templates'>;
  templates: ProfileSpec['templates'];
  kubernetes?: string;
  containerd?: string;
  macs: string[];
  uuid?: string;
  serial?: string;
  ip?: string;
  network: Network;
  disk?: NonNullable<Host['disk']>;
  identity: NonNullable<Host['identity']>;
  localBoot: NonNullable<Host['localBoot']>;
  bmc?: NonNullable<Host['bmc']>;
  labels: PoolSpec['labels'];
  taints: PoolSpec['taints'];
  variables: Record<string, unknown>;
  sshKeys: string[];
  kernelArguments: string[];
  snippets: string[];
}

export type { Cluster, Host, Pool, Profile, Rollout };
