import { cp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { EventOf } from '../../server/events/kinds.ts';
import { Appliance, edit, launchAppliance, newSite, type Site } from '../support/appliance.ts';
import { cliOn } from '../support/cli.ts';
import { type Stored, stored } from '../support/stored.ts';
import { tempFolder } from '../support/temp.ts';

const ROUNDS = 20;

it('is consistent after kill -9 at any moment: while it starts, while it reloads, again and again', async () => {
  const site = await newSite();
  const seed = Math.floor(Math.random() * 1e9);
  const random = randomFrom(seed);
  let edits = 0;
  const editAgain = (): Promise<void> => {
    edits += 1;
    return edit(site, (text) => text.replace(/name: n3\S*/, `name: n3-${edits}`));
  };
  let known: Stored = { events: [], revision: undefined };
  for (let round = 0; round < ROUNDS; round++) {
    const appliance = new Appliance(site, { env: { RAILHEAD_LOG_LEVEL: 'error' } });
    try {
      // Most die before they serve, the others somewhere in a series of edits.
      if (round % 5 > 1) await sleep(random() * 700);
      else {
        await appliance.running();
        await editAgain();
        await sleep(random() * 250); // the watcher waits a moment for an editor to be done
        await editAgain();
        await sleep(100 + random() * 200);
      }
    } finally {
      await appliance.kill();
    }
    expect(appliance.output).toMatch(/^(Railhead [\s\S]*)?\s*$/);
    known = await expectConsistent(site, known, `seed ${seed}, round ${round}`);
  }
  const last = await launchAppliance(site).running();
  const expected = await last.cli('check', '--json');
  expect(await last.readyz()).toMatchObject({ status: 200, revision: JSON.parse(expected.stdout).revision });
  await last.stop();
  await expectConsistent(site, known, `seed ${seed}, after all`);
});

it('comes back with the revision that was in force when the files are broken by then', async () => {
  const site = await newSite();
  const first = await launchAppliance(site).running();
  const { revision } = await first.readyz();
  await first.kill();
  const asked = await cliOn(site)('hosts');
  expect(asked).toMatchObject({ code: 3, stderr: expect.stringContaining('RH_SERVER_NOT_RUNNING') });
  await writeFile(join(site.inventory, 'broken.yaml'), 'hosts: [');
  const second = await launchAppliance(site).running();
  const readiness = await second.readyz();
  expect(readiness).toMatchObject({ status: 200, revision });
  expect(JSON.stringify(readiness.notes)).toContain(`revision ${revision} stays in force`);
  expect(await second.json('/api/v1/hosts')).toHaveLength(3);
});

/** Looks at a copy, so that it is the next start that has to recover. */
async function expectConsistent(site: Site, before: Stored, when: string): Promise<Stored> {
  const data = join(await tempFolder(), 'data');
  await cp(site.data, data, { recursive: true });
  const now = await stored({ data });
  expect(
    now.events.map(({ id }) => id),
    `ids are consecutive: ${when}`,
  ).toEqual(now.events.map((_, index) => index + 1));
  expect(now.events.slice(0, before.events.length), `nothing is lost: ${when}`).toEqual(before.events);
  const activated = now.events.filter(
    (event): event is EventOf<'inventory.activated'> => event.kind === 'inventory.activated',
  );
  activated.forEach(({ data: { previous } }, index) => {
    expect(previous, `each revision follows the last: ${when}`).toBe(activated[index - 1]?.data.revision);
  });
  expect(now.revision?.hash, `what is in force has its event: ${when}`).toBe(activated.at(-1)?.data.revision);
  if (now.revision !== undefined) expect(now.revision.inventory.hosts).toHaveLength(3);
  return now;
}

/** mulberry32: the same moments again for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let t = Math.imul(state ^ (state >>> 15), 1 | state);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}
