import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  type Appliance,
  AT_TERMINAL,
  hasTerminal,
  launchAppliance,
  newSite,
  siteEnv,
  startRailhead,
} from '../support/appliance.ts';
import { until } from '../support/poll.ts';

it('says where to look and what to do; makes a token that only its owner can read, and keeps it at the next start', async () => {
  const site = await newSite();
  const first = await launchAppliance(site).running();
  const { revision } = await first.readyz();
  const banner = await bannerOf(first);
  expect(banner).toMatch(new RegExp(`Status page +${first.url}/`));
  expect(banner).toMatch(/next-server +127\.0\.0\.1/);
  expect(banner).toMatch(/filename +undionly\.kpxe \(BIOS\), snponly\.efi \(UEFI\)/);
  expect(banner).toContain(`revision ${revision} in force, 3 hosts`);
  expect(banner).toMatch(
    /Missing before a machine can boot:\n +- the OS image flatcar stable [^\n]*\n +npx railhead assets sync .*curl /,
  );
  expect(banner).toMatch(/- the boot loaders undionly\.kpxe, snponly\.efi in [^\n]*\n +\S+/);

  const token = await first.token();
  expect(token).toMatch(/^rh_\S{32}$/);
  expect(banner).toContain('An admin token was made: data/keys/admin-token');
  expect((await stat(first.dataPath('keys'))).mode & 0o777).toBe(0o700);
  for (const secret of ['keys/admin-token', 'keys/ca.key', 'railhead.db']) {
    expect((await stat(first.dataPath(secret))).mode & 0o777, secret).toBe(0o600);
  }
  await first.stop();

  const second = await launchAppliance(site).running();
  expect(await second.token()).toBe(token);
  expect(await bannerOf(second)).not.toContain('admin token was made');
  const created = await second.events('kind=admin.token-created&limit=10');
  expect(created).toHaveLength(1);
  expect(JSON.stringify(created)).not.toContain(token);
});

it.skipIf(!hasTerminal)('shows the token once to a person at a terminal', async () => {
  const site = await newSite();
  const session = startRailhead([], {
    command: AT_TERMINAL,
    cwd: site.dir,
    env: { ...siteEnv(site), TERM: 'xterm' },
  });
  await until('the banner is out', () => session.stdout.includes('Stop with'));
  const token = (await readFile(join(site.data, 'keys', 'admin-token'), 'utf8')).trim();
  expect(session.stdout.split(token)).toHaveLength(2);
  expect(session.stdout).toContain('shown only now');
  // Pretty on a terminal, not JSON.
  expect(session.stdout).toContain('INFO');
  expect(session.stdout).not.toContain('{"level"');
});

/** All of it: it ends with how to stop. */
async function bannerOf(appliance: Appliance): Promise<string> {
  await until('the banner is out', () => appliance.stdout.includes('Stop with'));
  return appliance.stdout;
}
