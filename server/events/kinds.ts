import Type, { type Static } from 'typebox';

/**
 * Every kind of event and what it carries. Events are read by people, by the web page, by metrics and by the parts
 * that wait for something, so a kind that has been released only ever gains optional fields. Never a secret.
 */
const Place = { file: Type.String(), line: Type.Integer(), col: Type.Integer() };

export const EVENT_KINDS = {
  'server.started': Type.Object({
    version: Type.String(),
    database: Type.String(),
    advertise: Type.String(),
  }),
  'server.stopped': Type.Object({ reason: Type.String() }),
  'inventory.activated': Type.Object({
    revision: Type.String(),
    previous: Type.Optional(Type.String()),
    hosts: Type.Integer(),
    added: Type.Integer(),
    changed: Type.Integer(),
    removed: Type.Integer(),
    warnings: Type.Integer(),
  }),
  'inventory.rejected': Type.Object({
    /** The revision that stays in force, if there is one. */
    inForce: Type.Optional(Type.String()),
    errors: Type.Integer(),
    /** The first few; `railhead check` shows all. */
    problems: Type.Array(Type.Object({ ...Place, message: Type.String() })),
  }),
  /** After a rejection: the files are right again, and say what is in force already. */
  'inventory.recovered': Type.Object({ revision: Type.String() }),
  /** A TFTP download has ended, well or not. */
  'tftp.transfer': Type.Object({
    client: Type.String(),
    file: Type.String(),
    bytes: Type.Integer(),
    blocks: Type.Integer(),
    retransmits: Type.Integer(),
    seconds: Type.Number(),
    options: Type.Record(Type.String(), Type.String()),
    result: Type.Enum([
      'done',
      'unconfirmed',
      'size-only',
      'client-error',
      'timeout',
      'superseded',
      'stopped',
    ]),
    reason: Type.Optional(Type.String()),
  }),
  /** A TFTP request was answered with an error. */
  'tftp.refused': Type.Object({
    client: Type.String(),
    file: Type.String(),
    code: Type.Integer(),
    reason: Type.String(),
    /** How often the same was refused since the last such event. */
    repeats: Type.Optional(Type.Integer()),
  }),
  /** A machine fetched its kernel: a boot is under way. */
  'boot.attempt-opened': Type.Object({ action: Type.Enum(['install', 'run']), image: Type.String() }),
  'boot.attempt-closed': Type.Object({ outcome: Type.String() }),
  'boot.stage': Type.Object({
    stage: Type.String(),
    message: Type.Optional(Type.String()),
    /** For files: how many bytes went to the host, and how many the file has. */
    bytes: Type.Optional(Type.Integer()),
    of: Type.Optional(Type.Integer()),
  }),
  /** A boot is silent for longer than it should be. */
  'boot.overdue': Type.Object({ stage: Type.String(), waitingFor: Type.String(), seconds: Type.Integer() }),
  /** A file of the image is gone, or no longer what was offered: it is not sent. */
  'boot.image-refused': Type.Object({ file: Type.String(), reason: Type.String() }),
  /** A machine that is not in the inventory asked for a menu. */
  'boot.unknown': Type.Object({
    mac: Type.Optional(Type.String()),
    uuid: Type.Optional(Type.String()),
    serial: Type.Optional(Type.String()),
    vendor: Type.Optional(Type.String()),
    address: Type.Optional(Type.String()),
  }),
  'boot.ambiguous': Type.Object({ hosts: Type.Array(Type.String()), reason: Type.String() }),
  /** A host asked for a menu and got none that boots: it waits or is held. */
  'boot.held': Type.Object({ reason: Type.String() }),
  'boot.waiting': Type.Object({ reason: Type.String() }),
  /** A machine that runs iPXE already was sent iPXE again by DHCP. */
  'boot.loader-loop': Type.Object({ client: Type.String(), file: Type.String(), fix: Type.String() }),
  'boot.menu-failed': Type.Object({ template: Type.String(), reason: Type.String() }),
  /** Somebody showed a token and did not get what it is for. */
  'boot.token-refused': Type.Object({ what: Type.String(), reason: Type.String(), address: Type.String() }),
  /** A boot goes on from another address than the one that its kernel went to. */
  'boot.address-changed': Type.Object({ reason: Type.String() }),
  /** A machine was told to come by TLS, and could not. */
  'boot.tls-failed': Type.Object({ address: Type.String(), reason: Type.String() }),
  /** A host's configuration can't be made; it waits. */
  'ignition.failed': Type.Object({ problems: Type.Array(Type.String()) }),
  /** A person has looked at a configuration with its secrets. */
  'ignition.revealed': Type.Object({ address: Type.String() }),
  /** A machine has proved which host it is. */
  'agent.registered': Type.Object({ address: Type.String(), generation: Type.Optional(Type.Integer()) }),
  /** A machine wants to be a host and is not: an operator should decide. */
  'agent.alarm': Type.Object({
    address: Type.String(),
    reason: Type.String(),
    candidate: Type.Optional(Type.String()),
  }),
  /** An operator has decided about candidates: one of them is the host, or none is. */
  'host.trusted': Type.Object({ candidate: Type.String(), generation: Type.Integer() }),
  'host.candidates-dismissed': Type.Object({ candidates: Type.Integer() }),
  /** A person's order: reinstall, hold, release. */
  'host.ordered': Type.Object({
    order: Type.Enum(['reinstall', 'hold', 'release']),
    reason: Type.Optional(Type.String()),
  }),
  'host.adopted': Type.Object({ mac: Type.String(), file: Type.String() }),
  /** A sysext image is in the feed. */
  'feed.published': Type.Object({
    file: Type.String(),
    bytes: Type.Integer(),
    sha256: Type.String(),
    origin: Type.String(),
  }),
  /** It is in the feed no more; who has read of it already can still fetch it for a while. */
  'feed.removed': Type.Object({ file: Type.String() }),
  /** A file that somebody put into the folder of sysext images is none. */
  'feed.refused': Type.Object({ file: Type.String(), reason: Type.String() }),
  /** A host has fetched a sysext image to its end. */
  'feed.sent': Type.Object({ file: Type.String(), bytes: Type.Integer(), of: Type.Integer() }),
  /** A job on the images has begun: fetching, importing, checking them. */
  'assets.job-started': Type.Object({ job: Type.Enum(['sync', 'import', 'verify']), files: Type.Integer() }),
  'assets.job-ended': Type.Object({
    job: Type.Enum(['sync', 'import', 'verify']),
    result: Type.Enum(['done', 'failed', 'stopped']),
    /** Files that are new, and those that could not be had. */
    added: Type.Integer(),
    failed: Type.Integer(),
    /** Bytes that came over the network. */
    fetched: Type.Integer(),
    reason: Type.Optional(Type.String()),
  }),
  /** A file has been verified, and is served from now on. */
  'assets.added': Type.Object({ name: Type.String(), size: Type.Integer(), verifiedHow: Type.String() }),
  /** A file is not what it should be: it is not served. */
  'assets.refused': Type.Object({ name: Type.String(), reason: Type.String(), note: Type.String() }),
  /** What `current` stands for from now on. */
  'assets.pinned': Type.Object({
    image: Type.String(),
    version: Type.String(),
    previous: Type.Optional(Type.String()),
  }),
  'assets.pruned': Type.Object({ files: Type.Integer(), bytes: Type.Integer() }),
  /** A post-install step has begun. */
  'pipeline.step-started': Type.Object({
    cluster: Type.String(),
    step: Type.String(),
    attempt: Type.Integer(),
    /** A run of it was cut off before. */
    resumed: Type.Boolean(),
    why: Type.String(),
  }),
  'pipeline.step-done': Type.Object({ cluster: Type.String(), step: Type.String(), seconds: Type.Number() }),
  /** Without `retryInSeconds` it has failed for good: a person has to look. */
  'pipeline.step-failed': Type.Object({
    cluster: Type.String(),
    step: Type.String(),
    attempt: Type.Integer(),
    reason: Type.String(),
    seconds: Type.Number(),
    retryInSeconds: Type.Optional(Type.Integer()),
  }),
  /** The pipeline waits for something for longer than it should have to, or can't be run as the inventory has it. */
  'pipeline.stuck': Type.Object({ cluster: Type.String(), step: Type.String(), reason: Type.String() }),
  /** A person's order. */
  'pipeline.ordered': Type.Object({
    cluster: Type.String(),
    order: Type.Enum(['run', 'retry', 'skip', 'anew']),
    step: Type.Optional(Type.String()),
  }),
  /** The secrets of a cluster were made, or came from another appliance. */
  'cluster.secrets-made': Type.Object({ cluster: Type.String(), caHash: Type.String() }),
  'cluster.secrets-imported': Type.Object({ cluster: Type.String(), caHash: Type.String() }),
  'cluster.secrets-exported': Type.Object({ cluster: Type.String() }),
  /** This host, and no other, runs `kubeadm init`. */
  'cluster.init-claimed': Type.Object({ cluster: Type.String(), address: Type.String() }),
  /** A host was told what to do about kubeadm. */
  'cluster.kubeadm-answered': Type.Object({
    cluster: Type.String(),
    action: Type.Enum(['init', 'join', 'none']),
    /** What it does with what an earlier try has left. */
    before: Type.Optional(Type.Enum(['nothing', 'reset', 'resume'])),
  }),
  /** It has to ask again later. */
  'cluster.waiting': Type.Object({ cluster: Type.String(), reason: Type.String() }),
  /** The claim was given up by a person: another host may begin. */
  'cluster.reinit': Type.Object({
    cluster: Type.String(),
    previous: Type.Optional(Type.String()),
    newSecrets: Type.Boolean(),
  }),
  'cluster.tokens-rotated': Type.Object({ cluster: Type.String(), tokens: Type.Integer() }),
  /** Somebody was given an administrator's kubeconfig. */
  'cluster.kubeconfig-issued': Type.Object({
    cluster: Type.String(),
    address: Type.String(),
    expires: Type.String(),
  }),
  'cluster.api-up': Type.Object({ cluster: Type.String(), endpoint: Type.String(), first: Type.Boolean() }),
  /** It doesn't answer: what it would say is unknown, not gone. */
  'cluster.api-unknown': Type.Object({
    cluster: Type.String(),
    endpoint: Type.String(),
    reason: Type.String(),
  }),
  /** Nodes, as the API of their cluster shows them. */
  'node.joined': Type.Object({ cluster: Type.String(), node: Type.String(), version: Type.String() }),
  'node.ready': Type.Object({ cluster: Type.String(), node: Type.String() }),
  'node.not-ready': Type.Object({
    cluster: Type.String(),
    node: Type.String(),
    reason: Type.String(),
    message: Type.String(),
  }),
  'node.removed': Type.Object({ cluster: Type.String(), node: Type.String() }),
  'admin.token-created': Type.Object({ name: Type.String() }),
} as const;

export type EventKind = keyof typeof EVENT_KINDS;
export type EventData<K extends EventKind> = Static<(typeof EVENT_KINDS)[K]>;

/** An event that is about to be appended. */
export type NewEvent = {
  [K in EventKind]: { kind: K; host?: string; attempt?: string; data: EventData<K> };
}[EventKind];

/** An event that has been committed. */
export type Event = { [K in EventKind]: EventOf<K> }[EventKind];

export interface EventOf<K extends EventKind> {
  id: number;
  at: number;
  kind: K;
  host?: string;
  attempt?: string;
  data: EventData<K>;
}
