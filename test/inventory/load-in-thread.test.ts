import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RailheadError } from '../../server/errors.ts';
import { loadInThread } from '../../server/inventory/load-in-thread.ts';
import { makeRevision } from '../../server/inventory/revision.ts';
import { tempFolder } from '../support/temp.ts';
import { inventoryOf, lab } from './make.ts';

async function folderWith(text: string): Promise<string> {
  const dir = await tempFolder();
  await writeFile(join(dir, 'f.yaml'), text);
  return dir;
}

const signal = new AbortController().signal;

describe('loading in a thread', () => {
  it('gives what loading gives, with all hosts and look-ups, and counts what changes', async () => {
    // More than one message's worth of hosts.
    const many = Array.from({ length: 600 }, (_, n) => `{name: h${n}, pool: workers, serial: S${n}}`);
    const before = lab('{name: n2, pool: workers, serial: A}', '{name: h7, pool: workers, serial: B}');
    const previous = makeRevision(inventoryOf(before)).document;
    const dir = await folderWith(lab(...many));
    const outcome = await loadInThread({ dir, shownAs: 'inv', previous }, signal);
    if (!outcome.accepted) throw new Error('refused');
    const inventory = inventoryOf(lab(...many));
    expect(outcome.index.inventory).toEqual(inventory);
    expect(outcome.index.hostBySerial('S599')?.name).toBe('h599');
    expect(outcome.revision).toEqual(makeRevision(inventory));
    expect(outcome.changes).toEqual({ added: 599, changed: 1, removed: 1 });
    expect(outcome.problems).toMatchObject([{ severity: 'warning', subject: 'pool "workers"' }]);
  });

  it('gives the problems of an inventory that is not right', async () => {
    const outcome = await loadInThread({ dir: await folderWith('hosts: ['), shownAs: 'inv' }, signal);
    expect(outcome).toMatchObject({
      accepted: false,
      problems: [{ severity: 'error', file: 'inv/f.yaml', line: 1, col: 9 }],
    });
  });

  it('passes a coded error on as it is', async () => {
    const failure = await loadInThread({ dir: '/nowhere/at/all', shownAs: 'inv' }, signal).catch(
      (e: unknown) => e,
    );
    expect(failure).toBeInstanceOf(RailheadError);
    expect(failure).toMatchObject({
      code: 'RH_INVENTORY_UNREADABLE',
      hint: expect.stringContaining('--inventory'),
    });
  });

  it('is abandoned when it is no longer wanted, before or during', async () => {
    const dir = await folderWith(lab());
    const stopped = AbortSignal.abort(new Error('stopped'));
    await expect(loadInThread({ dir, shownAs: 'inv' }, stopped)).rejects.toThrow('stopped');
    const stopping = new AbortController();
    const loading = loadInThread({ dir, shownAs: 'inv' }, stopping.signal);
    stopping.abort(new Error('stopped'));
    await expect(loading).rejects.toThrow('stopped');
  });
});
