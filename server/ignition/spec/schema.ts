import Type, { type Static, type TProperties, type TSchema } from 'typebox';
import type { ListKey } from './list-key.ts';

/**
 * Ignition's spec 3.0.0–3.4.0. This one definition gives the TypeScript types and the check of the structure; its
 * lists also say what makes two of their entries the same, for which duplicates are refused and configs merged.
 * What came with which version is told in `since.ts`. Fields are in Ignition's own order: faults are found in it.
 *
 * Nothing is mandatory by structure in Ignition: text that is not optional here is "" when it is absent.
 */

/** How a list of the spec behaves. Lists of text are compared by the text. */
export interface ListRules {
  /** What an entry is known by. */
  key?: ListKey;
  /** Lists that share this name, in the same object, share their keys: an entry is in one of them only. */
  shares?: string;
  /** Entries are never compared: the order matters, and the same may come twice. */
  appended?: true;
  /** When merging, an entry of the child without this field takes the parent's one away. */
  removesWithout?: string;
}

const object = <T extends TProperties>(fields: T) => Type.Object(fields);
const list = <T extends TSchema>(entry: T, rules: ListRules) =>
  Type.Optional(Type.Array(entry, { ...rules }));
const texts = (rules: ListRules = {}) => list(Type.String(), rules);
const text = () => Type.Optional(Type.String());
const flag = () => Type.Optional(Type.Boolean());
const count = () => Type.Optional(Type.Integer());

const Verification = object({ hash: text() });
const HttpHeader = object({ name: Type.String(), value: text() });
export const ResourceSchema = object({
  compression: text(),
  httpHeaders: list(HttpHeader, { key: 'name', removesWithout: 'value' }),
  source: text(),
  verification: Type.Optional(Verification),
});
const resource = () => Type.Optional(ResourceSchema);

const IgnitionSection = object({
  config: Type.Optional(object({ merge: list(ResourceSchema, { key: 'source' }), replace: resource() })),
  proxy: Type.Optional(object({ httpProxy: text(), httpsProxy: text(), noProxy: texts() })),
  security: Type.Optional(
    object({
      tls: Type.Optional(object({ certificateAuthorities: list(ResourceSchema, { key: 'source' }) })),
    }),
  ),
  timeouts: Type.Optional(object({ httpResponseHeaders: count(), httpTotal: count() })),
  version: Type.String(),
});

const KernelArguments = object({
  shouldExist: texts({ shares: 'argument' }),
  shouldNotExist: texts({ shares: 'argument' }),
});

const PasswdGroup = object({
  gid: count(),
  name: Type.String(),
  passwordHash: text(),
  shouldExist: flag(),
  system: flag(),
});
const PasswdUser = object({
  gecos: text(),
  groups: texts(),
  homeDir: text(),
  name: Type.String(),
  noCreateHome: flag(),
  noLogInit: flag(),
  noUserGroup: flag(),
  passwordHash: text(),
  primaryGroup: text(),
  sshAuthorizedKeys: texts(),
  shell: text(),
  shouldExist: flag(),
  system: flag(),
  uid: count(),
});

const owner = () => Type.Optional(object({ id: count(), name: text() }));
/** What files, directories and links have in common. */
const nodeFields = { group: owner(), overwrite: flag(), path: Type.String(), user: owner() };

const Directory = object({ ...nodeFields, mode: count() });
const File = object({
  ...nodeFields,
  append: list(ResourceSchema, { appended: true }),
  contents: resource(),
  mode: count(),
});
const Link = object({ ...nodeFields, hard: flag(), target: text() });

const Partition = object({
  guid: text(),
  label: text(),
  number: count(),
  resize: flag(),
  shouldExist: flag(),
  sizeMiB: count(),
  startMiB: count(),
  typeGuid: text(),
  wipePartitionEntry: flag(),
});
const Disk = object({
  device: Type.String(),
  partitions: list(Partition, { key: 'number or label' }),
  wipeTable: flag(),
});
const Filesystem = object({
  device: Type.String(),
  format: text(),
  label: text(),
  mountOptions: texts({ appended: true }),
  options: texts({ appended: true }),
  path: text(),
  uuid: text(),
  wipeFilesystem: flag(),
});
const Tang = object({ advertisement: text(), thumbprint: text(), url: Type.String() });
const Clevis = object({
  custom: Type.Optional(object({ config: text(), needsNetwork: flag(), pin: text() })),
  tang: list(Tang, { key: 'url' }),
  threshold: count(),
  tpm2: flag(),
});
const Luks = object({
  clevis: Type.Optional(Clevis),
  device: text(),
  discard: flag(),
  keyFile: resource(),
  label: text(),
  name: Type.String(),
  openOptions: texts(),
  options: texts({ appended: true }),
  uuid: text(),
  wipeVolume: flag(),
});
const Raid = object({
  devices: texts(),
  level: text(),
  name: Type.String(),
  options: texts({ appended: true }),
  spares: count(),
});
const Storage = object({
  directories: list(Directory, { key: 'path', shares: 'path' }),
  disks: list(Disk, { key: 'device' }),
  files: list(File, { key: 'path', shares: 'path' }),
  filesystems: list(Filesystem, { key: 'device' }),
  links: list(Link, { key: 'path', shares: 'path' }),
  luks: list(Luks, { key: 'name' }),
  raid: list(Raid, { key: 'name' }),
});

const Dropin = object({ contents: text(), name: Type.String() });
const Unit = object({
  contents: text(),
  dropins: list(Dropin, { key: 'name' }),
  enabled: flag(),
  mask: flag(),
  name: Type.String(),
});

export const IgnitionConfigSchema = object({
  ignition: IgnitionSection,
  kernelArguments: Type.Optional(KernelArguments),
  passwd: Type.Optional(
    object({ groups: list(PasswdGroup, { key: 'name' }), users: list(PasswdUser, { key: 'name' }) }),
  ),
  storage: Type.Optional(Storage),
  systemd: Type.Optional(object({ units: list(Unit, { key: 'name' }) })),
});

export type IgnitionConfig = Static<typeof IgnitionConfigSchema>;
export type Resource = Static<typeof ResourceSchema>;
export type HttpHeader = Static<typeof HttpHeader>;
export type PasswdUser = Static<typeof PasswdUser>;
export type PasswdGroup = Static<typeof PasswdGroup>;
export type Directory = Static<typeof Directory>;
export type File = Static<typeof File>;
export type Link = Static<typeof Link>;
export type Disk = Static<typeof Disk>;
export type Partition = Static<typeof Partition>;
export type Filesystem = Static<typeof Filesystem>;
export type Luks = Static<typeof Luks>;
export type Clevis = Static<typeof Clevis>;
export type Tang = Static<typeof Tang>;
export type Raid = Static<typeof Raid>;
export type Storage = Static<typeof Storage>;
export type Unit = Static<typeof Unit>;
export type Dropin = Static<typeof Dropin>;
