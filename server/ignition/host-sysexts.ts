import { fileOf, type ImageId } from '../feed/image-name.ts';
import { transferDefinition } from '../feed/transfer-definition.ts';
import { systemdArch } from '../inventory/arch.ts';
import type { HostSpec } from '../inventory/model.ts';
import type { Sysext } from './values.ts';

export interface SysextLookUp {
  /** `http://10.0.0.5:8080` */
  baseUrl: string;
  /** The image in the feed. */
  find: (id: ImageId) => Promise<{ file: string; sha256: string } | undefined>;
}

/** The system extensions of a host: what its cluster runs, from the view of the feed that its cluster has. */
export async function sysextsOfHost(host: HostSpec, { baseUrl, find }: SysextLookUp): Promise<Sysext[]> {
  const { member, cluster, kubernetes, containerd } = host;
  if (!member || cluster === undefined || kubernetes === undefined) return [];
  // Named as the sysext bakery names them: its Kubernetes has a `v` before its version, its containerd has none.
  const wanted = [
    { name: 'kubernetes', version: `v${kubernetes}` },
    ...(containerd === undefined ? [] : [{ name: 'containerd', version: containerd }]),
  ];
  const sysexts: Sysext[] = [];
  for (const { name, version } of wanted) {
    const id: ImageId = { name, version, arch: systemdArch(host.os.arch) };
    // systemd-sysupdate finds out by itself what there is, and checks it against the feed's signature.
    const image = host.os.sysexts === 'ignition' ? await find(id) : undefined;
    sysexts.push({
      name,
      version,
      definition: transferDefinition({ name, baseUrl, cluster, verify: true }),
      image:
        image === undefined
          ? undefined
          : { ...image, url: `${baseUrl}/sysext/c/${cluster}/${name}/${fileOf(id)}` },
    });
  }
  return sysexts;
}
