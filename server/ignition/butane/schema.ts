/**
 * What a Butane document of variant `flatcar` may contain, and what each key is called in Ignition.
 * Made from what coreos/butane's base 0.4 (flatcar 1.0.0) and 0.5 (flatcar 1.1.0) accept.
 */
export type ButaneVersion = '1.0.0' | '1.1.0';

export const SPEC_OF: Readonly<Record<ButaneVersion, '3.3.0' | '3.4.0'>> = {
  '1.0.0': '3.3.0',
  '1.1.0': '3.4.0',
};

export type Kind = 'text' | 'integer' | 'boolean' | { list: Kind } | { struct: StructName };

export interface Field {
  kind: Kind;
  /** The name in Ignition; `undefined` for sugar, which becomes something else there. */
  to: string | undefined;
  /** Ignition's own schema wants it always: it is written even when it is empty. */
  always?: true;
  /** Zero means the same as nothing. */
  omitZero?: true;
  /** Not in older versions. */
  since?: ButaneVersion;
}

export type StructName = keyof typeof STRUCTS;

const text: Kind = 'text';
const integer: Kind = 'integer';
const boolean: Kind = 'boolean';
const texts: Kind = { list: 'text' };

const field = (kind: Kind, to: string, more: Partial<Field> = {}): Field => ({ kind, to, ...more });
const sugar = (kind: Kind, more: Partial<Field> = {}): Field => ({ kind, to: undefined, ...more });
const one = (struct: string): Kind => ({ struct: struct as StructName });
const many = (struct: string): Kind => ({ list: one(struct) });
const since11 = { since: '1.1.0' } as const;
const always = { always: true } as const;

const node = {
  path: field(text, 'path', always),
  overwrite: field(boolean, 'overwrite'),
  user: field(one('owner'), 'user'),
  group: field(one('owner'), 'group'),
};

export const STRUCTS = {
  root: {
    version: sugar(text),
    variant: sugar(text),
    ignition: field(one('ignition'), 'ignition'),
    kernel_arguments: field(one('kernelArguments'), 'kernelArguments'),
    passwd: field(one('passwd'), 'passwd'),
    storage: field(one('storage'), 'storage'),
    systemd: field(one('systemd'), 'systemd'),
  },
  ignition: {
    config: field(one('ignitionConfig'), 'config'),
    proxy: field(one('proxy'), 'proxy'),
    security: field(one('security'), 'security'),
    timeouts: field(one('timeouts'), 'timeouts'),
  },
  ignitionConfig: { merge: field(many('resource'), 'merge'), replace: field(one('resource'), 'replace') },
  proxy: {
    http_proxy: field(text, 'httpProxy'),
    https_proxy: field(text, 'httpsProxy'),
    no_proxy: field(texts, 'noProxy'),
  },
  security: { tls: field(one('tls'), 'tls') },
  tls: { certificate_authorities: field(many('resource'), 'certificateAuthorities') },
  timeouts: {
    http_response_headers: field(integer, 'httpResponseHeaders'),
    http_total: field(integer, 'httpTotal'),
  },
  kernelArguments: {
    should_exist: field(texts, 'shouldExist'),
    should_not_exist: field(texts, 'shouldNotExist'),
  },
  passwd: { users: field(many('user'), 'users'), groups: field(many('group'), 'groups') },
  user: {
    name: field(text, 'name', always),
    gecos: field(text, 'gecos'),
    groups: field(texts, 'groups'),
    home_dir: field(text, 'homeDir'),
    no_create_home: field(boolean, 'noCreateHome'),
    no_log_init: field(boolean, 'noLogInit'),
    no_user_group: field(boolean, 'noUserGroup'),
    password_hash: field(text, 'passwordHash'),
    primary_group: field(text, 'primaryGroup'),
    should_exist: field(boolean, 'shouldExist'),
    ssh_authorized_keys: field(texts, 'sshAuthorizedKeys'),
    ssh_authorized_keys_local: sugar(texts, since11),
    shell: field(text, 'shell'),
    system: field(boolean, 'system'),
    uid: field(integer, 'uid'),
  },
  group: {
    name: field(text, 'name', always),
    gid: field(integer, 'gid'),
    password_hash: field(text, 'passwordHash'),
    should_exist: field(boolean, 'shouldExist'),
    system: field(boolean, 'system'),
  },
  storage: {
    directories: field(many('directory'), 'directories'),
    disks: field(many('disk'), 'disks'),
    files: field(many('file'), 'files'),
    filesystems: field(many('filesystem'), 'filesystems'),
    links: field(many('link'), 'links'),
    luks: field(many('luks'), 'luks'),
    raid: field(many('raid'), 'raid'),
    trees: sugar(many('tree')),
  },
  file: {
    ...node,
    contents: field(one('resource'), 'contents'),
    append: field(many('resource'), 'append'),
    mode: field(integer, 'mode'),
  },
  directory: { ...node, mode: field(integer, 'mode') },
  link: { ...node, hard: field(boolean, 'hard'), target: field(text, 'target') },
  owner: { id: field(integer, 'id'), name: field(text, 'name') },
  tree: { local: sugar(text), path: sugar(text) },
  resource: {
    source: field(text, 'source'),
    inline: sugar(text),
    local: sugar(text),
    compression: field(text, 'compression'),
    http_headers: field(many('httpHeader'), 'httpHeaders'),
    verification: field(one('verification'), 'verification'),
  },
  httpHeader: { name: field(text, 'name', always), value: field(text, 'value') },
  verification: { hash: field(text, 'hash') },
  disk: {
    device: field(text, 'device', always),
    wipe_table: field(boolean, 'wipeTable'),
    partitions: field(many('partition'), 'partitions'),
  },
  partition: {
    number: field(integer, 'number', { omitZero: true }),
    label: field(text, 'label'),
    guid: field(text, 'guid'),
    type_guid: field(text, 'typeGuid'),
    size_mib: field(integer, 'sizeMiB'),
    start_mib: field(integer, 'startMiB'),
    resize: field(boolean, 'resize'),
    should_exist: field(boolean, 'shouldExist'),
    wipe_partition_entry: field(boolean, 'wipePartitionEntry'),
  },
  raid: {
    name: field(text, 'name', always),
    level: field(text, 'level'),
    devices: field(texts, 'devices'),
    options: field(texts, 'options'),
    spares: field(integer, 'spares'),
  },
  filesystem: {
    device: field(text, 'device', always),
    format: field(text, 'format'),
    path: field(text, 'path'),
    label: field(text, 'label'),
    uuid: field(text, 'uuid'),
    options: field(texts, 'options'),
    mount_options: field(texts, 'mountOptions'),
    wipe_filesystem: field(boolean, 'wipeFilesystem'),
    with_mount_unit: sugar(boolean),
  },
  luks: {
    name: field(text, 'name', always),
    device: field(text, 'device'),
    key_file: field(one('resource'), 'keyFile'),
    label: field(text, 'label'),
    uuid: field(text, 'uuid'),
    options: field(texts, 'options'),
    discard: field(boolean, 'discard', since11),
    open_options: field(texts, 'openOptions', since11),
    wipe_volume: field(boolean, 'wipeVolume'),
    clevis: field(one('clevis'), 'clevis'),
  },
  clevis: {
    custom: field(one('clevisCustom'), 'custom'),
    tang: field(many('tang'), 'tang'),
    threshold: field(integer, 'threshold'),
    tpm2: field(boolean, 'tpm2'),
  },
  clevisCustom: {
    config: field(text, 'config'),
    needs_network: field(boolean, 'needsNetwork'),
    pin: field(text, 'pin'),
  },
  tang: {
    url: field(text, 'url'),
    thumbprint: field(text, 'thumbprint'),
    advertisement: field(text, 'advertisement', since11),
  },
  systemd: { units: field(many('unit'), 'units') },
  unit: {
    name: field(text, 'name', always),
    enabled: field(boolean, 'enabled'),
    mask: field(boolean, 'mask'),
    contents: field(text, 'contents'),
    contents_local: sugar(text, since11),
    dropins: field(many('dropin'), 'dropins'),
  },
  dropin: {
    name: field(text, 'name', always),
    contents: field(text, 'contents'),
    contents_local: sugar(text, since11),
  },
} as const satisfies Record<string, Record<string, Field>>;

export function fieldsOf(struct: StructName): Readonly<Record<string, Field>> {
  return STRUCTS[struct];
}
