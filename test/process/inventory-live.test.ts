import { cp, mkdir, open, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Readiness } from '../../server/readiness.ts';
import {
  type Appliance,
  edit,
  launchAppliance,
  newSite,
  ROOT,
  startAppliance,
} from '../support/appliance.ts';
import { until } from '../support/poll.ts';

const EXAMPLE = join(ROOT, 'inventory', 'example.yaml');

it('stays up without a right inventory, says where it is wrong, and serves as soon as it is mended', async () => {
  const site = await newSite();
  await writeFile(join(site.inventory, 'example.yaml'), 'hosts:\n  - name: n1\n   pool: x\n');
  const appliance = await launchAppliance(site).running();
  const broken = await appliance.readyz();
  expect(broken).toMatchObject({ status: 503, ready: false, revision: null });
  expect(broken.reasons).toMatchObject([
    { part: 'inventory', message: expect.stringMatching(/example\.yaml:3:\d+/) },
  ]);
  await until('the banner is out', () => appliance.stdout.includes('Stop with'));
  expect(appliance.stdout).toMatch(
    /no revision in force\n\n[\s\S]*! The inventory on disk was refused.*example\.yaml:3:/,
  );
  expect((await appliance.ask('/')).status).toBe(200);

  await cp(EXAMPLE, join(site.inventory, 'example.yaml'));
  await until('it serves', async () => (await appliance.readyz()).status === 200);
  expect((await appliance.events()).map(({ kind }) => kind)).toEqual(
    expect.arrayContaining(['inventory.rejected', 'inventory.activated']),
  );
  await appliance.stop();
});

it('keeps the last good revision through every bad edit, and takes the next good one', async () => {
  const appliance = await startAppliance();
  const { site } = appliance;
  const { revision } = await appliance.readyz();
  const bad = join(site.inventory, 'zz-bad.yaml');

  await writeFile(bad, 'hosts:\n  - name: n9\n    pool: wokers\n    macs: [52:54:00:12:34:99]\n');
  await expectNote(appliance, revision, /zz-bad\.yaml:3:11: .*wokers.*workers/);
  const listed = await appliance.cli('events', '--limit', '1');
  expect(listed.stdout).toMatch(/inventory\.rejected .*zz-bad\.yaml:3:11/);

  await sparse(bad, 100 * 1024 * 1024);
  await expectNote(appliance, revision, /zz-bad\.yaml.*100 MB/);

  await writeFile(bad, billionLaughs());
  await expectNote(appliance, revision, /zz-bad\.yaml:\d+:\d+: .*alias/);

  await writeFile(bad, Buffer.from([0, 1, 2, 0xff, 0xfe, 0x80]));
  await expectNote(appliance, revision, /zz-bad\.yaml:\d+:\d+/);

  await rm(bad);
  await until('it recovers', async () => (await appliance.events()).at(-1)?.kind === 'inventory.recovered');

  await rename(site.inventory, `${site.inventory}.away`);
  await expectNote(appliance, revision, /inventory: .*not there/);
  await mkdir(site.inventory);
  await cp(EXAMPLE, join(site.inventory, 'example.yaml'));
  await edit(site, (text) => text.replace('name: n3', 'name: n7'));
  const next = await until('the edit is in force', async () => {
    const readiness = await appliance.readyz();
    return readiness.revision !== revision && readiness;
  });
  expect(next).toMatchObject({ status: 200, ready: true });
  expect(inventoryNotes(next)).toEqual([]);
  expect((await appliance.events()).at(-1)).toMatchObject({
    kind: 'inventory.activated',
    data: { revision: next.revision, previous: revision, added: 1, removed: 1, changed: 0 },
  });
  const { stdout } = await appliance.cli('events', '--json');
  expect(JSON.parse(stdout).at(-1)).toMatchObject({ kind: 'inventory.activated', name: expect.any(String) });
});

/** It says so, and what was in force before still is. */
async function expectNote(appliance: Appliance, revision: string | null, message: RegExp): Promise<void> {
  const note = await until(`/readyz says ${message}`, async () => {
    const readiness = await appliance.readyz();
    expect(readiness).toMatchObject({ status: 200, revision });
    return inventoryNotes(readiness).find((text) => message.test(text));
  });
  expect(note).toContain(`revision ${revision} stays in force`);
  const rejected = (await appliance.events()).at(-1);
  expect(rejected).toMatchObject({ kind: 'inventory.rejected', data: { inForce: revision } });
}

function inventoryNotes({ notes }: Readiness): string[] {
  return notes.filter(({ part }) => part === 'inventory').map(({ message }) => message);
}

/** A file that says it is large and takes no room. */
async function sparse(path: string, bytes: number): Promise<void> {
  const file = await open(path, 'w');
  await file.truncate(bytes);
  await file.close();
}

function billionLaughs(): string {
  const lines = ['a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]'];
  for (let n = 1; n < 12; n++) {
    lines.push(`a${n}: &a${n} [${Array.from({ length: 9 }, () => `*a${n - 1}`).join(', ')}]`);
  }
  return `${lines.join('\n')}\n`;
}
