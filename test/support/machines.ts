import type { JoinAsker, KubeadmAnswer } from '../../server/cluster/joins.ts';
import { ClusterService, type ClusterServiceOptions } from '../../server/cluster/service.ts';
import type { HostSpec } from '../../server/inventory/model.ts';
import { startWindow } from '../../server/machine/windows.ts';
import { insertMachine, liveMachine, openWindow } from '../../server/store/machines.ts';
import type { Db } from '../../server/store/store.ts';

/** A host that has registered and has not joined yet: the id of its machine. */
export async function provisioned(db: Db, host: string, now: number): Promise<number> {
  const machine = (await liveMachine(db, host))?.id ?? (await registered(db, host, now));
  if ((await openWindow(db, host)) === undefined) {
    await startWindow(db, host, { reason: 'first boot', machine, now });
  }
  return machine;
}

function registered(db: Db, host: string, now: number): Promise<number> {
  return insertMachine(db, {
    host,
    generation: 1,
    secret: `secret of ${host}`,
    token: `token of ${host}`,
    uuid: null,
    serial: null,
    boot_id: null,
    attempt: null,
    address: null,
    registered_at: now,
    booted_at: now,
    last_seen: now,
    rebooting_at: null,
    versions: '{}',
    revoked_at: null,
  });
}

/** Every host that asks by its address alone has registered and is being provisioned. */
export class ProvisionedClusters extends ClusterService {
  readonly #given: ClusterServiceOptions;

  constructor(options: ClusterServiceOptions) {
    super(options);
    this.#given = options;
  }

  override async answer(host: HostSpec, asker: JoinAsker | string): Promise<KubeadmAnswer> {
    if (typeof asker !== 'string') return super.answer(host, asker);
    const { store, now } = this.#given;
    return super.answer(host, { machine: await provisioned(store.db, host.name, now()), address: asker });
  }
}
