import type { Arch } from '../inventory/arch.ts';
import type { Inventory, ProfileSpec } from '../inventory/model.ts';

/** An operating system that some profile runs. */
export interface NeededImage {
  channel: ProfileSpec['channel'];
  arch: Arch;
  /** `current` until it is resolved. */
  version: string;
  /** Some profile installs it to disk: it needs the install image and the update payload, too. */
  onDisk: boolean;
}

/** A sysext image that some cluster's nodes run. */
export interface NeededSysext {
  name: 'kubernetes' | 'containerd';
  version: string;
  arch: Arch;
}

export interface Needs {
  images: NeededImage[];
  sysexts: NeededSysext[];
}

/** Exactly what the profiles and the clusters of an inventory need, each once. Pure. */
export function needs({ profiles, pools, clusters, hosts }: Inventory): Needs {
  const images = new Map<string, NeededImage>();
  for (const { channel, arch, version, install } of profiles) {
    const key = [channel, arch, version].join(' ');
    const onDisk = install === 'disk' || images.get(key)?.onDisk === true;
    images.set(key, { channel, arch, version, onDisk });
  }
  const sysexts = new Map<string, NeededSysext>();
  const add = (name: NeededSysext['name'], version: string | undefined, arch: Arch): void => {
    if (version === undefined) return;
    const plain = version.replace(/^v/, '');
    sysexts.set([name, plain, arch].join(' '), { name, version: plain, arch });
  };
  for (const pool of pools) {
    const cluster = clusters.find(({ name }) => name === pool.cluster);
    const profile = profiles.find(({ name }) => name === pool.profile);
    if (cluster === undefined || profile === undefined) continue;
    add('kubernetes', cluster.kubernetes, profile.arch);
    add('containerd', cluster.containerd, profile.arch);
  }
  for (const host of hosts) {
    if (host.cluster === undefined) continue;
    add('kubernetes', host.kubernetes, host.os.arch);
    add('containerd', host.containerd, host.os.arch);
  }
  return { images: [...images.values()], sysexts: [...sysexts.values()] };
}
