import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { fileOf, type ImageId } from '../../../server/feed/image-name.ts';
import { FeedKey } from '../../../server/feed/signing-key.ts';
import { edit, sharedAppliance, siteEnv } from '../../support/appliance.ts';
import { cliHere, cliOn } from '../../support/cli.ts';
import { until } from '../../support/poll.ts';
import { skipped } from '../../support/skipped.ts';
import { mksquashfsEnv, stage } from '../../support/sysext-build.ts';
import { imageOf } from '../../support/sysext-image.ts';
import { ARCH, type SystemdTree, SysupdateHost, systemdTrees } from '../../support/sysupdate-host.ts';
import { type Passing, tamperingProxy } from '../../support/tampering-proxy.ts';
import { tempFolder } from '../../support/temp.ts';

const trees = await systemdTrees();
const squashEnv = await mksquashfsEnv();
const appliance = sharedAppliance();

const k8s = (version: string): ImageId => ({ name: 'kubernetes', version, arch: ARCH });

/** By the command line, as an operator does. */
async function publish(id: ImageId): Promise<void> {
  const { site } = appliance();
  const path = join(site.dir, fileOf(id));
  await writeFile(path, imageOf(id, 300_000));
  const { code, stderr } = await cliOn(site)('sysext', 'add', path);
  expect(stderr).toBe('');
  expect(code).toBe(0);
}

async function fetched(path: string): Promise<Buffer> {
  const answer = await fetch(`${appliance().url}${path}`);
  expect(answer.status, path).toBe(200);
  return Buffer.from(await answer.arrayBuffer());
}

interface HostOptions {
  /** Which definition it has. */
  definition?: string;
  /** Where it believes the server to be. */
  url?: string;
}

/** A host as Ignition sets it up: a definition, the key, and the folder, which systemd 254 doesn't make itself. */
async function newHost(tree: SystemdTree, name: string, options: HostOptions = {}): Promise<SysupdateHost> {
  const { definition = `${name}.conf`, url = appliance().url } = options;
  const host = await SysupdateHost.create(tree);
  const text = (await fetched(`/sysext/${definition}`)).toString();
  await host.write(
    `/etc/sysupdate.${name}.d/${name}.conf`,
    text.replace(/^Path=http:\/\/[^/]+/m, `Path=${url}`),
  );
  await host.write('/etc/systemd/import-pubring.gpg', await fetched('/sysext/signing-key.gpg'));
  await host.write(`/opt/extensions/${name}/.keep`, '');
  return host;
}

const installed = async (host: SysupdateHost, name = 'kubernetes'): Promise<string[]> =>
  (await host.list(`/opt/extensions/${name}`)).filter((file) => file.endsWith('.raw'));
const current = (host: SysupdateHost, name = 'kubernetes'): Promise<string> =>
  host.link(`/etc/extensions/${name}.raw`);

beforeAll(async () => {
  if (trees.length === 0) return;
  // The host of this test is one of the inventory, by its address.
  await edit(appliance().site, (text) =>
    text
      .replace(/(- name: n1\n)/, '$1    ip: 127.0.0.1\n')
      .replace(/^clusters:\n/m, 'clusters:\n  - {name: old, kubernetes: 1.25.0, endpoint: 10.9.9.9}\n'),
  );
  for (const version of ['v1.32.9', 'v1.32.10', 'v1.33.2', 'v1.36.4']) await publish(k8s(version));
  for (const version of ['2.1.5', '2.2.0']) await publish({ name: 'containerd', version, arch: ARCH });
});

describe.each(trees)('systemd-sysupdate $version', (tree) => {
  it('lists, sees that something is new, updates, and follows when a version is published', async () => {
    const host = await newHost(tree, 'kubernetes', { definition: 'c/lab/kubernetes.conf' });
    const before = await host.sysupdate('kubernetes', 'list');
    expect(before.stdout, before.stderr).toMatch(
      /v1\.36\.4 .*candidate[\s\S]*v1\.33\.2[\s\S]*v1\.32\.10[\s\S]*v1\.32\.9 /,
    );
    expect(before.stderr).toContain('Good signature from "Railhead sysext feed"');
    expect(await host.sysupdate('kubernetes', 'check-new')).toMatchObject({ code: 0, stdout: 'v1.36.4\n' });

    expect((await host.sysupdate('kubernetes', 'update', 'v1.33.2')).code).toBe(0);
    expect(await current(host)).toBe(`../../opt/extensions/kubernetes/${fileOf(k8s('v1.33.2'))}`);
    expect(await host.read(`/opt/extensions/kubernetes/${fileOf(k8s('v1.33.2'))}`)).toEqual(
      imageOf(k8s('v1.33.2'), 300_000),
    );

    const newer = k8s(`v1.36.${tree.version === '254' ? 1 : 2}`);
    await publish(newer);
    expect((await host.sysupdate('kubernetes', 'list')).stdout).toContain(`${newer.version} `);
    expect((await host.sysupdate('kubernetes', 'update')).code).toBe(0);
    expect(await current(host)).toContain('v1.36.4');
    expect(await installed(host)).toEqual([fileOf(k8s('v1.33.2')), fileOf(k8s('v1.36.4'))]);
    // 1: there is nothing new.
    expect(await host.sysupdate('kubernetes', 'check-new')).toMatchObject({ code: 1, stdout: '' });
  });

  it.skipIf(squashEnv === undefined)(
    'gets what `sysext build --publish` made, and merges it',
    async (context) => {
      const { site } = appliance();
      const id: ImageId = { name: 'hello', version: `1.${tree.version}`, arch: ARCH };
      const flags = ['--name', id.name, '--version', id.version, '--arch', ARCH, '--publish', '--json'];
      const args = ['sysext', 'build', await stage(), ...flags];
      const built = await cliHere(args, { env: { ...siteEnv(site), ...squashEnv }, cwd: site.dir });
      expect([built.code, built.stderr]).toEqual([0, '']);
      expect(JSON.parse(built.stdout)).toMatchObject({
        ...id,
        url: expect.stringContaining(`/hello/${fileOf(id)}`),
      });

      const host = await newHost(tree, 'hello');
      expect((await host.sysupdate('hello', 'update', id.version)).code).toBe(0);
      // Nobody is there to be told of new units; 254 doesn't try to.
      const merge = `systemd-sysext ${tree.version === '254' ? '' : '--no-reload'} merge`;
      const merged = await host.script(`inside ${merge}; cat "$root/usr/bin/hello"`);
      if (merged.code !== 0 && /loop|overlay|not permitted/i.test(merged.stderr)) {
        skipped('merging by systemd-sysext', `no loop devices or overlays here: ${merged.stderr.trim()}`);
        return context.skip();
      }
      expect(merged.stdout, merged.stderr).toBe('#!/bin/sh\necho hello\n');
    },
  );

  it('pinned to a minor gets the newest patch of it, or the one that it is told', async () => {
    const host = await newHost(tree, 'kubernetes', { definition: 'kubernetes-v1.32.conf' });
    expect((await host.sysupdate('kubernetes', 'list')).stdout).toMatch(
      / 10 .*candidate\s*\n\s+9 .*available\s*\n*$/,
    );
    expect((await host.sysupdate('kubernetes', 'update', '9')).code).toBe(0);
    expect(await current(host)).toContain('kubernetes-v1.32.9-');
    expect((await host.sysupdate('kubernetes', 'update')).code).toBe(0);
    expect(await current(host)).toContain('kubernetes-v1.32.10-');
  });

  it("never runs ahead of its cluster: what is newer doesn't exist for it, whatever it asks for", async () => {
    await publish(k8s('v1.37.0'));
    const free = await newHost(tree, 'kubernetes');
    expect((await free.sysupdate('kubernetes', 'check-new')).stdout).toBe('v1.37.0\n');
    const host = await newHost(tree, 'kubernetes', { definition: 'c/lab/kubernetes.conf' });
    expect((await host.sysupdate('kubernetes', 'check-new')).stdout).toBe('v1.36.4\n');
    const refused = await host.sysupdate('kubernetes', 'update', 'v1.37.0');
    expect(refused.code).not.toBe(0);
    expect(refused.stderr).toMatch(/Update 'v1\.37\.0' not found/);
    expect(await installed(host)).toEqual([]);

    const containerd = await newHost(tree, 'containerd', { definition: 'c/lab/containerd.conf' });
    expect((await containerd.sysupdate('containerd', 'update')).code).toBe(0);
    expect(await installed(containerd, 'containerd')).toEqual([`containerd-2.1.5-${ARCH}.raw`]);
    const older = await containerd.sysupdate('containerd', 'update', '2.2.0');
    expect(older.code).not.toBe(0);
  });

  it('finds nothing when its cluster may have nothing of what there is', async () => {
    const host = await newHost(tree, 'kubernetes', { definition: 'c/old/kubernetes.conf' });
    const { code, stderr } = await host.sysupdate('kubernetes', 'update');
    expect([code, stderr]).toEqual([0, expect.stringMatching(/No update needed/)]);
    expect(await installed(host)).toEqual([]);
  });

  it('is seen: the server tells which host has fetched what', async () => {
    const sent = await until('the downloads are told of', async () => {
      const events = await appliance().events('kind=feed.sent&limit=1000');
      return events.length > 0 && events;
    });
    expect(sent.every(({ host }) => host === 'n1')).toBe(true);
    expect(sent.map(({ data }) => data)).toContainEqual({
      file: fileOf(k8s('v1.36.4')),
      bytes: 300_000,
      of: 300_000,
    });
  });

  it('accepts the halves of one moment when a version is published between them', async () => {
    const host = await newHost(tree, 'kubernetes');
    const proxy = await tamperingProxy(
      appliance().url,
      () => undefined,
      async (path) => {
        if (path.endsWith('.gpg')) await publish(k8s(`v1.31.${tree.version}`));
      },
    );
    const text = (await host.read('/etc/sysupdate.kubernetes.d/kubernetes.conf')).toString();
    await host.write('/etc/sysupdate.kubernetes.d/kubernetes.conf', text.replace(appliance().url, proxy.url));
    const { code, stderr } = await host.sysupdate('kubernetes', 'check-new');
    expect(stderr).toContain('Good signature');
    expect(code).toBe(0);
    expect(proxy.asked).toHaveLength(2);
  });

  const tamperings: [
    what: string,
    tamper: (passing: Passing) => Partial<Passing> | undefined,
    said: RegExp,
  ][] = [
    [
      'sums that were tampered with',
      ({ path, body }) =>
        path.endsWith('SUMS')
          ? { body: Buffer.from(body.toString().replace(/^./, (digit) => (digit === '0' ? '1' : '0'))) }
          : undefined,
      /BAD signature/,
    ],
    [
      'an image that was tampered with',
      ({ path, body }) => {
        if (path.endsWith('.raw')) body[1000]! ^= 1;
        return undefined;
      },
      /[Cc]hecksum|SHA256/,
    ],
    [
      'an image that was cut',
      ({ path, body }) => (path.endsWith('.raw') ? { body: body.subarray(0, 200_000) } : undefined),
      /[Cc]hecksum|SHA256/,
    ],
    [
      'a missing signature',
      ({ path }) => (path.endsWith('.gpg') ? { status: 404 } : undefined),
      /404|signature/,
    ],
  ];

  it.each(tamperings)('rejects %s', async (_what, tamper, said) => {
    const proxy = await tamperingProxy(appliance().url, tamper);
    const host = await newHost(tree, 'kubernetes', { url: proxy.url });
    const { code, stderr } = await host.sysupdate('kubernetes', 'update', 'v1.33.2');
    expect(code, stderr).not.toBe(0);
    expect(stderr).toMatch(said);
    expect(await installed(host)).toEqual([]);
  });

  it('rejects the signature of a key that it does not know', async () => {
    const stranger = new FeedKey(await tempFolder());
    await stranger.start();
    const host = await newHost(tree, 'kubernetes');
    await host.write('/etc/systemd/import-pubring.gpg', await stranger.publicKeyring());
    const { code, stderr } = await host.sysupdate('kubernetes', 'update');
    expect(code).not.toBe(0);
    expect(stderr).toMatch(/No public key/);
    expect(await installed(host)).toEqual([]);
  });

  it('finds nothing to do by the definition that does nothing', async () => {
    const host = await SysupdateHost.create(tree);
    await host.write('/etc/sysupdate.d/noop.conf', await fetched('/sysext/noop.conf'));
    const { code, stderr } = await host.sysupdate('', 'update');
    expect([code, stderr]).toEqual([0, expect.stringMatching(/No update needed/)]);
  });
});
