import { existsSync } from 'node:fs';
import pg from 'pg';
import { describe, expect, inject, it } from 'vitest';
import { edit, launchAppliance, newSite, siteEnv } from '../support/appliance.ts';
import { cliHere } from '../support/cli.ts';
import { until } from '../support/poll.ts';
import { createDatabase } from '../support/postgres.ts';
import { stored } from '../support/stored.ts';

const postgresUrl = inject('postgresUrl');

describe.skipIf(postgresUrl === undefined)('two appliances on one PostgreSQL', () => {
  it('are one that serves and one that waits, and takes over when the first is killed', async () => {
    const env = { DATABASE_URL: await createDatabase(postgresUrl!) };
    const first = await launchAppliance(await newSite(), { env }).running();
    const { revision } = await first.readyz();
    const waiting = launchAppliance(await newSite(), { env });
    await until('it waits', () => waiting.stderr.includes('waiting as standby'));
    expect(existsSync(waiting.dataPath('server.json'))).toBe(false);

    // A standby that is told to go goes, and nobody notices.
    waiting.signal('SIGTERM');
    expect(await waiting.ended, waiting.output).toMatchObject({ code: 0, signal: null });

    const second = launchAppliance(await newSite(), { env });
    await until('it waits', () => second.stderr.includes('waiting as standby'));
    await edit(first.site, (text) => text.replace('name: n3', 'name: n4'));
    await until('the edit is in force', async () => (await first.readyz()).revision !== revision);
    const before = await first.events();
    expect(before.filter(({ kind }) => kind === 'server.started')).toHaveLength(1);
    await first.kill();

    await second.running();
    expect(await second.readyz()).toMatchObject({ status: 200 });
    const after = await second.events();
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after.map(({ id }) => id)).toEqual(after.map((_, index) => index + 1));
    expect(second.stderr.match(/waiting as standby/g)).toHaveLength(1);
    await second.stop();
    expect((await stored(second.site, env.DATABASE_URL)).events.at(-1)).toMatchObject({
      kind: 'server.stopped',
    });
  });

  it('are never both active: the one that loses the database ends at once, and says why', async () => {
    const env = { DATABASE_URL: await createDatabase(postgresUrl!) };
    const appliance = await launchAppliance(await newSite(), { env }).running();
    // No database takes everything that a URL can say.
    for (const query of ['host=%00', 'kind=%00', 'after=9223372036854775808', 'after=1e300', 'host=%ff%fe']) {
      expect((await appliance.ask(`/api/v1/events?${query}`)).status, query).toBeLessThan(500);
    }
    expect((await appliance.ask('/api/v1/hosts/%00')).status).toBe(404);
    const admin = new pg.Client({ connectionString: env.DATABASE_URL });
    await admin.connect();
    await admin.query(`select pg_terminate_backend(pid) from pg_stat_activity
      where application_name = 'railhead (active)' and datname = current_database()`);
    await admin.end();
    expect(await appliance.ended, appliance.output).toMatchObject({ code: 4 });
    expect(appliance.stderr).toContain('The lock on the database is lost.');
    expect(await cliHere(['hosts'], { env: siteEnv(appliance.site) })).toMatchObject({ code: 3 });
  });
});
