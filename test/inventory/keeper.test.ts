import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { formatProblem } from '../../server/document/problem.ts';
import type { Event, EventOf } from '../../server/events/kinds.ts';
import { EventLog } from '../../server/events/log.ts';
import { InventoryIndex } from '../../server/inventory/index.ts';
import { InventoryKeeper, type KeeperOptions } from '../../server/inventory/keeper.ts';
import { type LoadOutcome, loadInThread } from '../../server/inventory/load-in-thread.ts';
import { type LoadRequest, prepare } from '../../server/inventory/prepare.ts';
import { makeRevision, openRevision } from '../../server/inventory/revision.ts';
import { findRevision, listRevisions, revisionInForce } from '../../server/store/revisions.ts';
import { openStore, type Store } from '../../server/store/store.ts';
import { until } from '../support/poll.ts';
import { tempFolder } from '../support/temp.ts';
import { inventoryOf, lab } from './make.ts';

const ONE = lab();
const TWO = lab('{name: n2, pool: workers, macs: [52:54:00:12:34:02], serial: A}');
const BROKEN = `${lab()}    oops\n`;
const hashOf = (text: string): string => makeRevision(inventoryOf(text)).hash;

/** As in a thread, but without the half second that starting one takes. */
async function loadHere(request: LoadRequest, signal: AbortSignal): Promise<LoadOutcome> {
  const prepared = await prepare(request);
  signal.throwIfAborted();
  return prepared.accepted ? { ...prepared, index: new InventoryIndex(prepared.inventory) } : prepared;
}

class Site {
  readonly dir: string;
  readonly store: Store;
  readonly events: EventLog;
  readonly faults: unknown[] = [];
  #time = 1_000_000;

  constructor(dir: string, store: Store) {
    this.dir = dir;
    this.store = store;
    this.events = new EventLog({ store, now: () => this.#time, keepCount: 1000, keepDays: 1 });
  }

  /** A keeper that has started, as after a (re)start of the process. */
  async keeper(options: Partial<KeeperOptions> = {}): Promise<InventoryKeeper> {
    const keeper = this.newKeeper(options);
    await keeper.start();
    return keeper;
  }

  newKeeper(options: Partial<KeeperOptions> = {}): InventoryKeeper {
    const { dir, store, events } = this;
    const now = () => this.#time++;
    const onFault = (error: unknown) => void this.faults.push(error);
    const keeper = new InventoryKeeper({
      dir,
      store,
      events,
      now,
      onFault,
      shownAs: 'inv',
      watch: false,
      load: loadHere,
      ...options,
    });
    onTestFinished(() => keeper.stop());
    return keeper;
  }

  write(text: string, file = 'f.yaml'): Promise<void> {
    return writeFile(join(this.dir, file), text);
  }

  async happened(): Promise<Event[]> {
    return this.events.list({ limit: 100 });
  }

  async kinds(): Promise<string[]> {
    return (await this.happened()).map(({ kind }) => kind);
  }
}

async function newSite(text?: string): Promise<Site> {
  const dir = await tempFolder();
  const store = await openStore({ dataDir: await tempFolder() });
  onTestFinished(() => store.close());
  const site = new Site(dir, store);
  if (text !== undefined) await site.write(text);
  return site;
}

describe('the inventory in force', () => {
  it('is nothing before there has ever been a good one', async () => {
    const site = await newSite();
    const keeper = await site.keeper();
    expect(keeper.revision).toBeUndefined();
    expect(keeper.index.inventory).toEqual({ clusters: [], profiles: [], pools: [], hosts: [] });
    expect(keeper.rejection?.problems.map(formatProblem)).toEqual([
      'inv: error: there is no *.yaml file in this folder; an inventory without hosts is a file with `hosts: []`',
    ]);
    expect(await site.kinds()).toEqual(['inventory.rejected']);
    await site.write(ONE);
    await keeper.reload();
    expect({ revision: keeper.revision, rejection: keeper.rejection }).toEqual({
      revision: hashOf(ONE),
      rejection: undefined,
    });
  });

  it('may be explicitly empty', async () => {
    const keeper = await (await newSite('hosts: []')).keeper();
    expect({ revision: keeper.revision, rejection: keeper.rejection }).toEqual({
      revision: hashOf('hosts: []'),
      rejection: undefined,
    });
  });

  it('is loaded at the start, stored as a revision and told as an event', async () => {
    const site = await newSite(TWO);
    const keeper = await site.keeper();
    expect(keeper.revision).toBe(hashOf(TWO));
    expect(keeper.index.hostBySerial('A')?.name).toBe('n2');
    const stored = await revisionInForce(site.store.db);
    expect(stored?.hash).toBe(hashOf(TWO));
    expect(openRevision(stored!.document)).toEqual(inventoryOf(TWO));
    expect(await site.happened()).toMatchObject([
      {
        kind: 'inventory.activated',
        data: { revision: hashOf(TWO), hosts: 2, added: 2, changed: 0, removed: 0, warnings: 0 },
      },
    ]);
  });

  it('changes as a whole with an edit, and the event counts what changes', async () => {
    const site = await newSite(
      lab('{name: n2, pool: workers, serial: A}', '{name: n3, pool: workers, serial: B}'),
    );
    const keeper = await site.keeper();
    const previous = keeper.revision;
    const edited = lab(
      '{name: n2, pool: workers, serial: C}',
      '{name: n4, pool: workers, serial: D, disk: /dev/sda}',
    );
    await site.write(edited);
    await keeper.reload();
    expect(keeper.index.hostBySerial('A')).toBeUndefined();
    expect(keeper.index.hostBySerial('C')?.name).toBe('n2');
    expect((await site.happened()).at(-1)).toMatchObject({
      kind: 'inventory.activated',
      data: { revision: hashOf(edited), previous, hosts: 3, added: 1, changed: 1, removed: 1, warnings: 2 },
    });
    expect(keeper.warnings.map(({ subject }) => subject)).toEqual(['pool "workers"', 'host "n4"']);
    expect((await listRevisions(site.store.db)).map(({ hash }) => hash)).toEqual([hashOf(edited), previous]);
  });

  it('is no new revision when only comments change', async () => {
    const site = await newSite(ONE);
    const keeper = await site.keeper();
    await site.write(`# a comment\n${ONE}`);
    await keeper.reload();
    expect(await site.kinds()).toEqual(['inventory.activated']);
  });

  it('comes back with a restart, without an event when nothing changed', async () => {
    const site = await newSite(TWO);
    await (await site.keeper()).stop();
    const keeper = await site.keeper();
    expect(keeper.revision).toBe(hashOf(TWO));
    expect(keeper.index.host('n2')).toBeDefined();
    expect(await site.kinds()).toEqual(['inventory.activated']);
  });

  it('may go back to a revision that was in force before', async () => {
    const site = await newSite(ONE);
    const keeper = await site.keeper();
    for (const text of [TWO, ONE]) {
      await site.write(text);
      await keeper.reload();
    }
    expect((await revisionInForce(site.store.db))?.hash).toBe(hashOf(ONE));
    expect(await site.kinds()).toEqual(['inventory.activated', 'inventory.activated', 'inventory.activated']);
  });
});

describe('a bad edit', () => {
  it('changes nothing but that it is said, once, with its places', async () => {
    const site = await newSite(TWO);
    const keeper = await site.keeper();
    await site.write(BROKEN);
    await keeper.reload();
    await keeper.reload();
    expect(keeper.revision).toBe(hashOf(TWO));
    expect(keeper.index.host('n2')).toBeDefined();
    expect(await site.kinds()).toEqual(['inventory.activated', 'inventory.rejected']);
    const rejected = (await site.happened()).at(-1) as EventOf<'inventory.rejected'>;
    expect(rejected.data).toMatchObject({
      inForce: hashOf(TWO),
      errors: 1,
      problems: [{ file: 'inv/f.yaml', line: 9, col: 5 }],
    });
    expect(keeper.rejection?.problems).toHaveLength(1);
    expect((await revisionInForce(site.store.db))?.hash).toBe(hashOf(TWO));
  });

  it('that gets worse is said again, and is as old as its beginning', async () => {
    const site = await newSite(TWO);
    const keeper = await site.keeper();
    await site.write(lab('{name: n2, pool: nowhere, serial: A}'));
    await keeper.reload();
    const since = keeper.rejection?.since;
    await site.write(lab('{name: n2, pool: nowhere, serial: A}', '{name: n3, pool: workers}'));
    await keeper.reload();
    expect(keeper.rejection).toMatchObject({
      since,
      problems: [{ subject: 'host "n2"' }, { subject: 'host "n3"' }],
    });
    const rejected = (await site.happened()).at(-1) as EventOf<'inventory.rejected'>;
    expect(rejected.data.problems.map(({ message }) => message.split(':')[0])).toEqual([
      'host "n2"',
      'host "n3"',
    ]);
    expect((await site.kinds()).filter((kind) => kind === 'inventory.rejected')).toHaveLength(2);
  });

  it('of a thousand errors makes an event of bearable size, and tells how many there are', async () => {
    const hosts = Array.from({ length: 1000 }, (_, n) => `{name: h${n}, pool: nowhere, serial: S${n}}`);
    const site = await newSite(lab(...hosts));
    const keeper = await site.keeper();
    const rejected = (await site.happened())[0] as EventOf<'inventory.rejected'>;
    expect(rejected.data).toMatchObject({ errors: 1000 });
    expect(rejected.data.problems).toHaveLength(20);
    expect(keeper.rejection?.problems).toHaveLength(1000);
  });

  it('that is taken back is told as recovered', async () => {
    const site = await newSite(TWO);
    const keeper = await site.keeper();
    await site.write(BROKEN);
    await keeper.reload();
    await site.write(TWO);
    await keeper.reload();
    expect(keeper.rejection).toBeUndefined();
    expect((await site.happened()).at(-1)).toMatchObject({
      kind: 'inventory.recovered',
      data: { revision: hashOf(TWO) },
    });
  });

  it('that is mended to something new is told as activated', async () => {
    const site = await newSite(ONE);
    const keeper = await site.keeper();
    await site.write(BROKEN);
    await keeper.reload();
    await site.write(TWO);
    await keeper.reload();
    expect({ revision: keeper.revision, rejection: keeper.rejection }).toEqual({
      revision: hashOf(TWO),
      rejection: undefined,
    });
    expect(await site.kinds()).toEqual(['inventory.activated', 'inventory.rejected', 'inventory.activated']);
  });

  it('before a restart leaves the last good revision in force after it', async () => {
    const site = await newSite(TWO);
    await (await site.keeper()).stop();
    await site.write(BROKEN);
    const keeper = await site.keeper();
    expect(keeper.revision).toBe(hashOf(TWO));
    expect(keeper.index.hostBySerial('A')?.name).toBe('n2');
    expect(keeper.rejection?.problems).toHaveLength(1);
  });

  it.each<{ what: string; spoil: (dir: string) => Promise<unknown>; says: RegExp }>([
    {
      what: 'the folder is gone',
      spoil: (dir) => rm(dir, { recursive: true }),
      says: /^inv: error: Can't read the inventory folder .*: it is not there\. Say which folder/,
    },
    {
      what: 'the folder is empty, as one that is not mounted',
      spoil: (dir) => rm(join(dir, 'f.yaml')),
      says: /^inv: error: there is no \*\.yaml file in this folder/,
    },
    {
      what: 'a file became a folder',
      spoil: async (dir) => {
        await rm(join(dir, 'f.yaml'));
        await mkdir(join(dir, 'f.yaml'));
      },
      says: /^inv\/f\.yaml:1:1: error: can't be read: it is a folder, not a file$/,
    },
  ])('may be that $what', async ({ spoil, says }) => {
    const site = await newSite(TWO);
    const keeper = await site.keeper();
    await spoil(site.dir);
    await keeper.reload();
    expect(keeper.revision).toBe(hashOf(TWO));
    expect(keeper.rejection?.problems.map(formatProblem)).toEqual([expect.stringMatching(says)]);
    expect(site.faults).toEqual([]);
  });
});

describe('a reload', () => {
  it('asked for many times at once ends once for all, with what was on disk at the last call', async () => {
    const site = await newSite(ONE);
    const keeper = await site.keeper();
    const first = keeper.reload();
    await site.write(TWO);
    await Promise.all([first, ...Array.from({ length: 10 }, () => keeper.reload())]);
    expect(keeper.revision).toBe(hashOf(TWO));
    expect(await site.kinds()).toEqual(['inventory.activated', 'inventory.activated']);
  });

  it('asked for during another makes one more after it, and no more than one', async () => {
    const site = await newSite(ONE);
    let loads = 0;
    const keeper = await site.keeper({
      load: (request, signal) => {
        loads++;
        return loadHere(request, signal);
      },
    });
    await Promise.all([keeper.reload(), keeper.reload(), keeper.reload()]);
    expect(loads).toBe(1 + 2);
  });

  it('of a file that is just being written waits for the rest of it', async () => {
    const site = await newSite(ONE);
    const keeper = await site.keeper({
      load: async (request, signal) => {
        const outcome = await loadHere(request, signal);
        if (!outcome.accepted) await site.write(TWO);
        return outcome;
      },
    });
    await site.write(TWO.slice(0, TWO.length - 20)); // ends inside a bracket
    await keeper.reload();
    expect(keeper.revision).toBe(hashOf(TWO));
    expect(await site.kinds()).toEqual(['inventory.activated', 'inventory.activated']);
  });

  it('of files that never stop changing takes them as they are in the end', async () => {
    let loads = 0;
    const site = await newSite(ONE);
    const keeper = await site.keeper({
      load: async (request, signal) => {
        const outcome = await loadHere(request, signal);
        await site.write(`${TWO}${'#'.repeat(++loads)}`);
        return outcome;
      },
    });
    expect(loads).toBe(10);
    expect(keeper.revision).toBe(hashOf(TWO));
  });

  it('whose revision can not be stored is said, and nothing is in force that is not stored', async () => {
    const site = await newSite(ONE);
    const keeper = await site.keeper();
    await site.store.db.schema.dropTable('revisions').execute();
    await site.write(TWO);
    await expect(keeper.reload()).rejects.toThrow(/revisions/);
    expect(keeper.revision).toBe(hashOf(ONE));
    expect(keeper.index.host('n2')).toBeUndefined();
    expect(keeper.rejection?.problems[0]?.message).toMatch(/^The inventory could not be put in force: /);
    expect(await site.kinds()).toEqual(['inventory.activated']);
  });

  it('during which it is told to stop ends, and writes nothing after', async () => {
    const site = await newSite(ONE);
    await (await site.keeper()).stop();
    const forEver = (_request: LoadRequest, signal: AbortSignal) =>
      new Promise<never>((_resolve, reject) => {
        // On a busy machine it has been told so before this begins.
        if (signal.aborted) reject(signal.reason);
        signal.addEventListener('abort', () => reject(signal.reason));
      });
    const keeper = site.newKeeper({ load: forEver });
    const starting = keeper.start();
    await until('the revision in force is known', () => keeper.revision);
    await keeper.stop();
    await starting;
    expect(keeper.revision).toBe(hashOf(ONE));
    expect(await site.kinds()).toEqual(['inventory.activated']);
    expect(site.faults).toEqual([]);
  });

  it('that is done just as it is told to stop writes nothing any more', async () => {
    const site = await newSite(ONE);
    const keeper: InventoryKeeper = site.newKeeper({
      load: async (request, signal) => {
        const outcome = await loadHere(request, signal);
        void keeper.stop();
        return outcome;
      },
    });
    await keeper.start();
    expect(keeper.revision).toBeUndefined();
    expect(await site.kinds()).toEqual([]);
  });

  it('runs in a thread, where it can be stopped as well', async () => {
    const hosts = Array.from({ length: 3000 }, (_, n) => `{name: h${n}, pool: workers, serial: S${n}}`);
    const site = await newSite(ONE);
    const keeper = await site.keeper({ load: loadInThread });
    expect(keeper.index.inventory).toEqual(inventoryOf(ONE));
    await site.write(lab(...hosts));
    const reloading = keeper.reload();
    await keeper.stop();
    await reloading;
    expect(keeper.revision).toBe(hashOf(ONE));
    expect(await site.kinds()).toEqual(['inventory.activated']);
    expect(site.faults).toEqual([]);
  });

  it('that fails for a reason that is not in the files is said, and the reason is logged', async () => {
    const site = await newSite(ONE);
    const bug = new TypeError('x of undefined');
    const keeper = await site.keeper({ load: () => Promise.reject(bug) });
    expect(keeper.rejection?.problems.map(formatProblem)).toEqual([
      'inv: error: Something went wrong inside Railhead. This is a bug. The log has the details.',
    ]);
    expect(site.faults).toEqual([bug]);
  });

  it('after it was told to stop does nothing', async () => {
    const site = await newSite(ONE);
    const keeper = await site.keeper();
    await keeper.stop();
    await site.write(TWO);
    await keeper.reload();
    expect(keeper.revision).toBe(hashOf(ONE));
    expect((await findRevision(site.store.db, hashOf(TWO)))?.hash).toBeUndefined();
  });

  it('at the start may be stopped as well', async () => {
    const site = await newSite(ONE);
    const keeper = site.newKeeper({ watch: true });
    const starting = keeper.start();
    await keeper.stop();
    await starting;
    expect(await site.kinds()).toEqual([]);
  });
});

describe('a watched inventory', () => {
  const inForce = (keeper: InventoryKeeper, text: string) =>
    until('the edit is in force', () => keeper.revision === hashOf(text));

  it('follows edits in place and by rename', async () => {
    const site = await newSite(ONE);
    const keeper = await site.keeper({ watch: true });
    await site.write(TWO);
    await inForce(keeper, TWO);
    await site.write(ONE, '.f.yaml.new');
    await rename(join(site.dir, '.f.yaml.new'), join(site.dir, 'f.yaml'));
    await inForce(keeper, ONE);
    expect(site.faults).toEqual([]);
  });

  it('follows a bad edit and its mending', async () => {
    const site = await newSite(TWO);
    const keeper = await site.keeper({ watch: true });
    await site.write(BROKEN);
    await until('the edit is refused', () => keeper.rejection !== undefined);
    expect(keeper.revision).toBe(hashOf(TWO));
    await site.write(TWO);
    await until('it is accepted again', () => keeper.rejection === undefined);
    expect(await site.kinds()).toEqual(['inventory.activated', 'inventory.rejected', 'inventory.recovered']);
  });

  it('misses no edit that falls into its start', async () => {
    const site = await newSite(ONE);
    const keeper = site.newKeeper({ watch: true });
    const starting = keeper.start();
    // As the first load ends, before anybody could say that it has.
    const stop = site.events.subscribe(() => void site.write(TWO));
    onTestFinished(stop);
    await starting;
    stop();
    await inForce(keeper, TWO);
  });

  it('is left alone when it is not to be watched', async () => {
    const site = await newSite(ONE);
    const keeper = await site.keeper({ watch: false });
    await site.write(TWO);
    await new Promise((resolve) => setTimeout(resolve, 150)); // longer than an edit takes to settle
    expect(keeper.revision).toBe(hashOf(ONE));
  });
});
