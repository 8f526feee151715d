import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { HostSummary } from '../../server/machine/describe-host.ts';
import { edit, launchAppliance, newSite } from '../support/appliance.ts';
import { until } from '../support/poll.ts';
import { canMount, privateMounts } from '../support/private-mounts.ts';

it.skipIf(!canMount)(
  'serves on when the disk fills up, says why it records nothing, and recovers',
  async () => {
    const site = await newSite();
    await mkdir(site.data);
    const mounts = await privateMounts(`mount -t tmpfs -o size=2m none ${site.data}`);
    const seenFromHere = { ...site, data: mounts.inside(site.data) };
    const appliance = launchAppliance(site, { through: mounts.through });
    appliance.dataPath = (...path) => join(seenFromHere.data, ...path);
    await appliance.running();
    const before = await appliance.readyz();

    const filler = await open(appliance.dataPath('filler'), 'w');
    await expect(filler.writeFile(Buffer.alloc(4 * 1024 * 1024))).rejects.toMatchObject({ code: 'ENOSPC' });
    await filler.close();
    await edit(site, (text) => text.replace('name: n3', 'name: renamed'));

    const full = await until('it says why', async () => {
      const readiness = await appliance.readyz();
      return readiness.status === 503 && readiness;
    });
    expect(full.reasons).toMatchObject([{ part: 'store', message: expect.stringContaining('full') }]);
    expect(full.revision).toBe(before.revision);
    expect((await appliance.ask('/healthz')).status).toBe(200);
    expect((await appliance.json<HostSummary[]>('/api/v1/hosts')).map(({ name }) => name)).toContain('n3');
    expect((await appliance.ask('/')).status).toBe(200);
    const headers = { authorization: `Bearer ${await appliance.token()}` };
    const refused = await appliance.ask('/api/v1/inventory/reload', { method: 'POST', headers });
    expect(refused.status).toBe(507);
    expect(JSON.parse(refused.body)).toMatchObject({ error: { code: 'RH_DISK_FULL' } });

    await rm(appliance.dataPath('filler'));
    const after = await until('the edit is in force', async () => {
      const readiness = await appliance.readyz();
      return readiness.status === 200 && readiness.revision !== before.revision && readiness;
    });
    expect((await appliance.events()).at(-1)).toMatchObject({
      kind: 'inventory.activated',
      data: { revision: after.revision, previous: before.revision },
    });
    await appliance.stop();
  },
);
