import type { SpecVersion } from './version.ts';

/**
 * What came with which version of the spec: the one place that knows. Everything else was there from 3.0.0.
 * An older config that has a newer field is accepted by Ignition, which ignores the field.
 */
export const FIELD_SINCE: Readonly<Record<string, SpecVersion>> = {
  'ignition.proxy': '3.1.0',
  'ignition.config.merge[].compression': '3.1.0',
  'ignition.config.merge[].httpHeaders': '3.1.0',
  'ignition.config.replace.compression': '3.1.0',
  'ignition.config.replace.httpHeaders': '3.1.0',
  'ignition.security.tls.certificateAuthorities[].compression': '3.1.0',
  'ignition.security.tls.certificateAuthorities[].httpHeaders': '3.1.0',
  'storage.files[].contents.httpHeaders': '3.1.0',
  'storage.files[].append[].httpHeaders': '3.1.0',
  'storage.filesystems[].mountOptions': '3.1.0',
  'storage.disks[].partitions[].resize': '3.2.0',
  'storage.luks': '3.2.0',
  'passwd.users[].shouldExist': '3.2.0',
  'passwd.groups[].shouldExist': '3.2.0',
  kernelArguments: '3.3.0',
  'storage.luks[].clevis.tang[].advertisement': '3.4.0',
  'storage.luks[].discard': '3.4.0',
  'storage.luks[].openOptions': '3.4.0',
};

/** Values of fields that are older than they are. A config that has one too early is refused. */
export const URL_SCHEME_SINCE: Readonly<Record<string, SpecVersion>> = {
  http: '3.0.0',
  https: '3.0.0',
  tftp: '3.0.0',
  s3: '3.0.0',
  data: '3.0.0',
  gs: '3.2.0',
  arn: '3.4.0',
};

export const HASH_SINCE: Readonly<Record<string, SpecVersion>> = { sha512: '3.0.0', sha256: '3.1.0' };

export const FORMAT_SINCE: Readonly<Record<string, SpecVersion>> = {
  ext4: '3.0.0',
  btrfs: '3.0.0',
  xfs: '3.0.0',
  vfat: '3.0.0',
  swap: '3.0.0',
  none: '3.3.0',
};

/** Rules that older versions don't have. */
export const RULE_SINCE = {
  /** An entry of `ignition.config.merge` needs a source. */
  mergeNeedsSource: '3.1.0',
  /** A hash without a source is refused everywhere, not only in files. */
  hashNeedsSourceEverywhere: '3.1.0',
  linkNeedsTarget: '3.3.0',
  /** An empty `clevis.custom` is the same as none. */
  emptyClevisCustomIsNone: '3.3.0',
} as const satisfies Record<string, SpecVersion>;
