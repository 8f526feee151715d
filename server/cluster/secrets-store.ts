import { Shape } from '../document/shape.ts';
import { RailheadError } from '../errors.ts';
import type { EventLog } from '../events/log.ts';
import { type ClusterRow, findCluster, insertCluster, replaceSecrets } from '../store/clusters.ts';
import type { Store } from '../store/store.ts';
import { pinOf } from './pki.ts';
import { ClusterSecrets, makeSecrets, secretsFaults } from './secrets.ts';

/** Keeps secrets unreadable in the database; `about` says what they are and whose. */
export interface Sealer {
  seal(content: Buffer, about: string): Buffer;
  unseal(sealed: Buffer, about: string): Buffer;
}

export interface SecretsStoreOptions {
  store: Store;
  events: EventLog;
  now: () => number;
  vault: Sealer;
}

/** The secrets of every cluster, made when they are first asked for and then the same for ever. */
export class SecretsStore {
  readonly #options: SecretsStoreOptions;

  constructor(options: SecretsStoreOptions) {
    this.#options = options;
  }

  /** Those of a cluster; throws when they can't be unsealed or are good for nothing, such as an expired CA. */
  async ensure(cluster: string): Promise<ClusterSecrets> {
    const found = await this.find(cluster);
    const secrets = found ?? (await this.#make(cluster));
    const faults = secretsFaults(secrets, new Date(this.#options.now()));
    if (faults.length === 0) return secrets;
    throw new RailheadError(
      'RH_CLUSTER_SECRETS',
      `The secrets of cluster ${cluster} can't be used: ${faults.join('; ')}.`,
      {
        hint: `\`npx railhead cluster secrets import ${cluster} FILE --replace\` takes others; \`cluster reinit ${cluster} --yes --new-secrets\` begins anew.`,
      },
    );
  }

  /** As they are, good or not; `undefined` when none were made yet. */
  async find(cluster: string): Promise<ClusterSecrets | undefined> {
    const row = await findCluster(this.#options.store.db, cluster);
    return row === undefined ? undefined : this.#open(row);
  }

  async #make(cluster: string): Promise<ClusterSecrets> {
    const { events, now, vault } = this.#options;
    const made = await makeSecrets(new Date(now()));
    let kept: ClusterRow | undefined;
    await events.transact(async (db) => {
      const row = this.#row(cluster, made);
      await insertCluster(db, row);
      kept = await findCluster(db, cluster);
      // Somebody else was first: theirs are the ones.
      if (!kept!.sealed.equals(row.sealed)) return [];
      return [{ kind: 'cluster.secrets-made', data: { cluster, caHash: pinOf(made.ca.certificate) } }];
    });
    return parseSecrets(vault.unseal(kept!.sealed, about(cluster)).toString(), cluster);
  }

  /** From another appliance. Those that are there stay, unless a person says otherwise. */
  async import(cluster: string, text: string, { replace }: { replace: boolean }): Promise<ClusterSecrets> {
    const { store, events, now } = this.#options;
    const secrets = parseSecrets(text, cluster);
    const faults = secretsFaults(secrets, new Date(now()));
    if (faults.length > 0) {
      throw new RailheadError('RH_CLUSTER_SECRETS', `These secrets can't be used: ${faults.join('; ')}.`);
    }
    if (!replace && (await findCluster(store.db, cluster)) !== undefined) {
      throw new RailheadError('RH_CLUSTER_SECRETS', `Cluster ${cluster} has secrets already.`, {
        hint: 'Give --replace to give them up: machines that joined with them will be strangers.',
      });
    }
    await events.transact(async (db) => {
      await replaceSecrets(db, this.#row(cluster, secrets));
      const caHash = pinOf(secrets.ca.certificate);
      return [{ kind: 'cluster.secrets-imported', data: { cluster, caHash } }];
    });
    return secrets;
  }

  /** New ones, for a cluster that is begun anew. */
  async freshRow(cluster: string): Promise<ClusterRow> {
    return this.#row(cluster, await makeSecrets(new Date(this.#options.now())));
  }

  /** For what belongs to a cluster and is kept beside its secrets. */
  seal(content: string, what: string): Buffer {
    return this.#options.vault.seal(Buffer.from(content), what);
  }

  unseal(sealed: Buffer, what: string): string {
    return this.#options.vault.unseal(sealed, what).toString();
  }

  #row(cluster: string, secrets: ClusterSecrets): ClusterRow {
    const sealed = this.#options.vault.seal(Buffer.from(JSON.stringify(secrets)), about(cluster));
    return { name: cluster, sealed, created_at: this.#options.now(), api_seen_at: null };
  }

  #open({ name, sealed }: ClusterRow): ClusterSecrets {
    return parseSecrets(this.#options.vault.unseal(sealed, about(name)).toString(), name);
  }
}

function about(cluster: string): string {
  return `secrets of cluster ${cluster}`;
}

function parseSecrets(text: string, cluster: string): ClusterSecrets {
  try {
    const value: unknown = JSON.parse(text);
    if (isSecrets(value)) return value;
  } catch {
    // said below, without a word of it
  }
  throw new RailheadError('RH_CLUSTER_SECRETS', `The secrets of cluster ${cluster} are not in order.`);
}

function isSecrets(value: unknown): value is ClusterSecrets {
  return shape.accepts(value);
}

const shape = new Shape(ClusterSecrets);
