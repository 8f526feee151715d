import { flatcarBoard } from '../inventory/arch.ts';
import type { ClusterSpec, HostSpec } from '../inventory/model.ts';
import type { Purpose } from './delivery.ts';
import { envFile } from './env-file.ts';
import { networkUnit } from './network-unit.ts';
import { markerOf, type SecretReader, withSecrets } from './secrets.ts';

/** A system extension that a host is to have. */
export interface Sysext {
  name: string;
  /** As its image is named: `v1.36.4`. */
  version: string;
  /** What makes systemd-sysupdate fetch it. */
  definition: string;
  /** The image, if the feed has it. */
  image: { file: string; url: string; sha256: string } | undefined;
}

/** How the appliance is reached. */
export interface ServerFacts {
  /** `http://10.0.0.5:8080` */
  url: string;
  httpsUrl: string;
  /** The certificate of its authority, PEM. */
  ca: string;
}

export interface ValuesInput {
  host: HostSpec;
  cluster: ClusterSpec | undefined;
  purpose: Purpose;
  server: ServerFacts;
  sysexts: readonly Sysext[];
  feed: { keyring: Buffer; noop: string };
  /** The key that images to install are signed with, in ASCII armour; without it, the installer trusts its own. */
  imageKey?: string | undefined;
  /** Empty the partition that outlives boots: a person has ordered it. */
  wipe: boolean;
  /** What this boot registers with, and how secrets are read; without it markers stand in their place. */
  secrets: { token: string; read: SecretReader } | undefined;
}

/** Everything that templates may name. `docs/templates.md` lists it for people. Pure, but for reading secrets. */
export function templateValues(input: ValuesInput): Record<string, unknown> {
  const { host, cluster, server, sysexts, feed, imageKey, secrets } = input;
  const network = networkUnit(host);
  const isMember = host.member && host.kubernetes !== undefined;
  return {
    host: {
      name: host.name,
      pool: host.pool,
      profile: host.profile,
      role: host.role,
      macs: host.macs,
      uuid: host.uuid ?? null,
      serial: host.serial ?? null,
      ip: host.ip ?? null,
      labels: host.labels,
      taints: host.taints,
    },
    cluster: cluster ?? null,
    os: { ...host.os, board: flatcarBoard(host.os.arch) },
    variables: withSecrets(host.variables, secrets?.read, 'variables'),
    sshKeys: host.sshKeys,
    network: { isStatic: network !== undefined, unit: network ?? '' },
    server,
    token: secrets?.token ?? markerOf('token of this boot'),
    isMember,
    isControlPlane: isMember && host.role === 'control-plane',
    usesSysupdate: host.os.sysexts === 'sysupdate',
    sysexts: sysexts.map(({ name, version, definition, image }) => ({
      name,
      version,
      definition,
      file: image?.file ?? '',
      url: image?.url ?? '',
      hash: image === undefined ? '' : `sha256-${image.sha256}`,
    })),
    feed: { keyUrl: `data:;base64,${feed.keyring.toString('base64')}`, noop: feed.noop },
    images: { key: imageKey ?? '' },
    // Made when they are asked for: no template asks for all of them.
    env: {
      get node() {
        return envFile({ RAILHEAD_URL: server.httpsUrl, RAILHEAD_HOST: host.name });
      },
      get disk() {
        return envFile({ ...diskValues(host.disk), RAILHEAD_DATA_WIPE: input.wipe ? 'yes' : 'no' });
      },
      get install() {
        const board = flatcarBoard(host.os.arch);
        return envFile({
          RAILHEAD_IMAGES: `${server.url}/assets/${host.os.os}/${host.os.channel}/${board}`,
          RAILHEAD_OS_VERSION: host.os.version,
          RAILHEAD_BOARD: board,
        });
      },
      get sysexts() {
        return sysexts.map(({ name, version }) => `${name} ${version}\n`).join('');
      },
    },
  };
}

function diskValues(disk: HostSpec['disk']): Record<string, string | number | undefined> {
  if (disk === undefined) return {};
  if (typeof disk === 'string') return { RAILHEAD_DISK: disk };
  const { serial, wwn, model, rotational, minSizeGB, maxSizeGB } = disk;
  return {
    RAILHEAD_DISK_SERIAL: serial,
    RAILHEAD_DISK_WWN: wwn,
    RAILHEAD_DISK_MODEL: model,
    RAILHEAD_DISK_ROTATIONAL: rotational === undefined ? undefined : Number(rotational),
    RAILHEAD_DISK_MIN_MB: minSizeGB === undefined ? undefined : Math.ceil(minSizeGB * 1000),
    RAILHEAD_DISK_MAX_MB: maxSizeGB === undefined ? undefined : Math.floor(maxSizeGB * 1000),
  };
}
