import { describe, inject, onTestFinished } from 'vitest';
import { openStore, type Store, type StoreLocation } from '../../server/store/store.ts';
import { createDatabase } from './postgres.ts';
import { tempFolder } from './temp.ts';

export interface StoreKind {
  /** A new, empty place for a store. */
  location(): Promise<StoreLocation>;
  /** A new store, closed when the test is over. */
  open(): Promise<Store>;
}

/** Runs the same tests on both databases; on PostgreSQL where it can be had. */
export function onEveryStore(name: string, tests: (kind: StoreKind) => void): void {
  describe(`${name} on SQLite`, () => tests(kindOf(async () => ({ dataDir: await tempFolder() }))));
  const url = inject('postgresUrl');
  describe.skipIf(url === undefined)(`${name} on PostgreSQL`, () =>
    tests(kindOf(async () => ({ dataDir: await tempFolder(), databaseUrl: await createDatabase(url!) }))),
  );
}

function kindOf(location: () => Promise<StoreLocation>): StoreKind {
  return {
    location,
    open: async () => {
      const store = await openStore(await location());
      onTestFinished(() => store.close());
      return store;
    },
  };
}
