import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  AT_TERMINAL,
  hasTerminal,
  launchAppliance,
  newSite,
  siteEnv,
  startAppliance,
  startRailhead,
} from '../support/appliance.ts';
import { until } from '../support/poll.ts';

it('says where to look, what to set in DHCP, what is in force and what is missing', async () => {
  const appliance = await startAppliance();
  const { revision } = await appliance.readyz();
  await until('the banner is out', () => appliance.stdout.includes('Stop with'));
  const banner = appliance.stdout;
  expect(banner).toMatch(new RegExp(`Status page +${appliance.url}/`));
  expect(banner).toMatch(/next-server +127\.0\.0\.1/);
  expect(banner).toMatch(/filename +lpxelinux\.0 \(BIOS\), snponly\.efi \(UEFI\)/);
  expect(banner).toContain(`revision ${revision} in force, 3 hosts`);
  expect(banner).toMatch(
    /Missing before a machine can boot:\n +- the OS image flatcar stable [^\n]*\n +curl /,
  );
  expect(banner).toContain('the boot loaders lpxelinux.0, snponly.efi');
});

it('makes an admin token that only its owner can read, shows it to no pipe, and keeps it at the next start', async () => {
  const site = await newSite();
  const first = await launchAppliance(site).running();
  await until('the banner is out', () => first.stdout.includes('Stop with'));
  const token = await first.token();
  expect(token).toMatch(/^rh_\S{32}$/);
  expect(first.stdout).toContain('An admin token was made: data/keys/admin-token');
  expect((await stat(first.dataPath('keys'))).mode & 0o777).toBe(0o700);
  for (const secret of ['keys/admin-token', 'keys/ca.key', 'railhead.db']) {
    expect((await stat(first.dataPath(secret))).mode & 0o777, secret).toBe(0o600);
  }
  await first.stop();

  const second = await launchAppliance(site).running();
  await until('the banner is out', () => second.stdout.includes('Stop with'));
  expect(await second.token()).toBe(token);
  expect(second.stdout).not.toContain('admin token was made');
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
