import { readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startAppliance } from '../support/appliance.ts';
import { cliOn } from '../support/cli.ts';
import { fakeImage } from '../support/sysext-image.ts';

it('publishes, lists and removes images; a start later all is as it was, also the key', async () => {
  const appliance = await startAppliance();
  const { site } = appliance;
  const cli = cliOn(site);
  expect((await stat(join(site.data, 'keys', 'feed-signing.asc'))).mode & 0o777).toBe(0o600);

  const file = 'kubernetes-v1.36.4-x86-64.raw';
  const large = fakeImage('large', 20 * 1024 * 1024);
  await writeFile(join(site.dir, file), large);
  const atFirst = await bytesReadBy(appliance.pid);
  // A real process: the file goes over a real connection.
  expect(await appliance.cli('sysext', 'add', file)).toMatchObject({
    code: 0,
    stdout: `${file} is in the feed: ${appliance.server.advertise}/sysext/kubernetes/${file}\n`,
    stderr: '',
  });
  expect((await bytesReadBy(appliance.pid)) - atFirst).toBeGreaterThan(large.length);
  expect((await cli('sysext', 'add', file)).stdout).toMatch(/was in the feed already/);
  const [listed] = JSON.parse((await cli('sysext', 'list', '--json')).stdout);
  expect(listed).toMatchObject({
    name: 'kubernetes',
    version: 'v1.36.4',
    arch: 'x86-64',
    file,
    size: large.length,
  });
  expect((await cli('sysext', 'list')).stdout).toMatch(/^NAME .*\nkubernetes +v1\.36\.4 +x86-64 /);

  // Refused before it has come: neither side waits for the rest of it.
  const larger = fakeImage('larger', 100 * 1024 * 1024);
  await writeFile(join(site.dir, 'large.img'), larger);
  const before = await bytesReadBy(appliance.pid);
  const asVersion = ['--name', 'kubernetes', '--version', 'v1.36.4', '--arch', 'x86-64'];
  expect(await appliance.cli('sysext', 'add', 'large.img', ...asVersion)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^RH_SYSEXT_EXISTS: /),
  });
  expect((await bytesReadBy(appliance.pid)) - before).toBeLessThan(larger.length / 2);

  await writeFile(join(site.dir, 'mine.img'), fakeImage('mine'));
  expect(await cli('sysext', 'add', 'mine.img')).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("doesn't say what it is"),
  });
  const flags = ['--name', 'mine', '--version', '1', '--arch', 'arm64'];
  expect(JSON.parse((await cli('sysext', 'add', 'mine.img', ...flags, '--json')).stdout)).toMatchObject({
    file: 'mine-1-arm64.raw',
    isNew: true,
  });
  await writeFile(join(site.dir, 'mine.img'), fakeImage('other'));
  expect(await cli('sysext', 'add', 'mine.img', ...flags)).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^RH_SYSEXT_EXISTS: /),
  });
  await writeFile(join(site.dir, 'mine.img'), 'something else');
  expect(await cli('sysext', 'add', 'mine.img', ...flags, '--force')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^RH_SYSEXT_INVALID: .*no squashfs/),
  });
  expect(await cli('sysext', 'add', 'none-1-arm64.raw')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/There is no file/),
  });

  expect(await cli('sysext', 'remove', 'kubernetes', 'v1.36.4')).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/^RH_SYSEXT_NEEDED: .* lab\./),
  });
  expect(await cli('sysext', 'remove', 'mine', '1')).toMatchObject({
    code: 0,
    stdout: 'mine-1-arm64.raw is no longer in the feed.\n',
  });
  expect((await cli('sysext', 'remove', 'mine', '1')).code).toBe(1);

  const key = (await appliance.ask('/sysext/signing-key.gpg')).body;
  const sums = (await appliance.ask('/sysext/kubernetes/SHA256SUMS')).body;
  const kinds = (await appliance.events()).map(({ kind }) => kind);
  expect(kinds.filter((kind) => kind === 'feed.published')).toHaveLength(2);
  expect(kinds).toContain('feed.removed');
  await appliance.stop();

  const again = await startAppliance({ data: site.data, inventory: site.inventory });
  expect((await again.ask('/sysext/signing-key.gpg')).body).toBe(key);
  expect((await again.ask('/sysext/kubernetes/SHA256SUMS')).body).toBe(sums);
  await again.stop();
});

/** From files and from the network together. */
async function bytesReadBy(pid: number): Promise<number> {
  return Number(/^rchar: (\d+)$/m.exec(await readFile(`/proc/${pid}/io`, 'utf8'))![1]);
}
