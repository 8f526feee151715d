import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile, mkdtemp, readFile, rename, rm, truncate, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { ensureParts } from '../../../scripts/lib/parts.mjs';
import type { Event } from '../../../server/events/kinds.ts';
import { Origin } from '../../assets/origin.ts';
import { mirrorsOn, publishRelease, publishSigned } from '../../assets/release.ts';
import { makeKey } from '../../assets/signing.ts';
import { Appliance, ask, makeSite, Started, siteEnv } from '../../support/appliance.ts';
import { bootMachine } from '../../support/booting.ts';
import { NOTHING_FETCHED, skipped } from '../../support/skipped.ts';
import { tempFolder } from '../../support/temp.ts';
import { buildSystem, configArchive, type MachineParts, powerOn, SERVER } from './machine.ts';
import { type DiskTools, makeImage, oemFiles, withoutOem } from './stand-in-image.ts';

vi.setConfig({ testTimeout: 500_000, hookTimeout: 300_000 });

const RELEASE = '/stable/amd64-usr/4593.2.5';
const IMAGE = 'flatcar_production_image.bin.bz2';
const DISK_BYTES = 128 * 1024 * 1024;

/** Flatcar's own script is not ours to keep: whoever has it says where. */
const SCRIPT = process.env.RAILHEAD_FLATCAR_INSTALL;

async function findParts(): Promise<(MachineParts & DiskTools) | undefined> {
  const skip = (why: string): undefined => skipped('the real flatcar-install on a disk', why);
  if (process.env.RAILHEAD_TEST_PARTS === 'none') return skip(NOTHING_FETCHED);
  if (SCRIPT === undefined || !existsSync(SCRIPT)) {
    return skip(
      'set RAILHEAD_FLATCAR_INSTALL to the path of bin/flatcar-install from github.com/flatcar/init',
    );
  }
  if (process.arch !== 'x64') return skip(`its machine is x86-64, and this is ${process.arch}`);
  const parts = await ensureParts(['qemu', 'guestKernel', 'busybox', 'sfdisk', 'installTools']);
  const { qemu, guestKernel, busybox, sfdisk, installTools } = parts;
  if (!qemu || !guestKernel || !busybox || !sfdisk || !installTools)
    return skip('programs for it could not be fetched');
  return { qemu, guestKernel, busybox, sfdisk, installTools };
}

const parts = await findParts();

const HOSTS = { serial: '52:54:00:00:00:01', both: '52:54:00:00:00:02', tampered: '52:54:00:00:00:03' };
const INVENTORY = `
profiles: [{name: flatcar, os: flatcar, version: 4593.2.5, install: disk}]
pools: [{name: fleet, profile: flatcar}]
hosts:
  - {name: serial, pool: fleet, macs: ['${HOSTS.serial}'], disk: {serial: RIGHT}}
  - {name: both, pool: fleet, macs: ['${HOSTS.both}'], disk: {minSizeGB: 0.1}}
  - {name: tampered, pool: fleet, macs: ['${HOSTS.tampered}'], disk: {serial: RIGHT}}
`;

describe.skipIf(parts === undefined)('the real flatcar-install, on a machine with two disks', () => {
  let dir: string;
  let origin: Origin;
  let appliance: Appliance;
  let system: string;
  const image = (): string => join(dir, 'image');

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'railhead-install-'));
    system = await buildSystem(parts!, SCRIPT!, dir);
    await makeImage(parts!, image());
    await makeImage(parts!, join(dir, 'older'));
    origin = await new Origin().start();
    const key = await makeKey();
    origin.files.set('/key.asc', Buffer.from(key.publicArmored));
    await publishRelease(origin, key, { version: '4593.2.5' });
    await publishSigned(origin, RELEASE, IMAGE, packed(image()), key);

    const site = await makeSite();
    await writeFile(join(site.inventory, 'example.yaml'), INVENTORY);
    const mirrors = mirrorsOn(origin);
    const env = {
      RAILHEAD_ADVERTISE: SERVER,
      RAILHEAD_FLATCAR_MIRROR: mirrors.flatcarMirror,
      RAILHEAD_UPDATE_MIRROR: mirrors.updateMirror,
      RAILHEAD_FLATCAR_KEY_URL: mirrors.flatcarKeyUrl,
      RAILHEAD_FLATCAR_KEY_FINGERPRINT: key.fingerprint,
      RAILHEAD_ASSETS_MIN_FREE_MEGABYTES: '1',
    };
    appliance = await new Appliance(site, { env }).running();
    const synced = await new Started(['assets', 'sync'], { cwd: site.dir, env: siteEnv(site) }).ended;
    expect(synced, synced.stderr).toMatchObject({ code: 0 });
  });

  afterAll(async () => {
    await appliance?.kill();
    await origin?.stop();
    for (const each of [dir, appliance?.site.dir]) {
      if (each !== undefined) await rm(each, { recursive: true, force: true });
    }
  });

  /** Boots the installer of a host; the disk that is meant comes second, and looks as if it were new. */
  async function install(host: keyof typeof HOSTS) {
    const place = await tempFolder();
    const token = await bootMachine(appliance, HOSTS[host]);
    const headers = { authorization: `Bearer ${token}` };
    const ca = await readFile(appliance.dataPath('keys', 'ca.pem'), 'utf8');
    const { status, body } = await ask(`${appliance.httpsUrl}/boot/${token}/config.ign`, { headers, ca });
    expect(status, body).toBe(200);
    const knownUrl = `http://${SERVER}:${appliance.server.httpPort}/api/v1/events?limit=1000&host=${host}`;
    const config = await configArchive(
      parts!.busybox,
      JSON.parse(body),
      { 'etc/known-url': knownUrl },
      place,
    );

    // An older installation, with the very labels that flatcar-install looks for.
    const [wrong, right] = [join(place, 'wrong'), join(place, 'right')];
    await copyFile(join(dir, 'older'), wrong);
    await writeFile(right, '');
    for (const disk of [wrong, right]) await truncate(disk, DISK_BYTES);
    const wrongBefore = await readFile(wrong);
    const said = await powerOn({
      parts: parts!,
      initrds: [system, config],
      disks: [
        { file: wrong, serial: 'WRONG' },
        { file: right, serial: 'RIGHT' },
      ],
      dir: place,
    });
    expect((await readFile(wrong)).equals(wrongBefore), 'the other disk is as it was').toBe(true);
    const stages = (await appliance.events(`limit=1000&host=${host}`)).flatMap((event: Event) =>
      event.kind === 'boot.stage' ? [event.data] : [],
    );
    return { said, stages, place, right: await readFile(right) };
  }

  it('writes the verified image to the disk that is meant, and the stub; the machine restarts when the server knows', async () => {
    const { said, stages, right, place } = await install('serial');
    expect(said).toContain('Success! Flatcar Container Linux stable 4593.2.5 is installed on /dev/vdb');
    expect(withoutOem(right).equals(withoutOem(await readFile(image()))), said).toBe(true);

    const oem = await oemFiles(parts!.installTools, right, place);
    expect(Object.keys(oem)).toEqual(['config.ign']);
    expect(oem['config.ign']!.mode).toBe(0o600);
    const { replace } = JSON.parse(oem['config.ign']!.content).ignition.config;
    const { httpsPort } = appliance.server;
    expect(replace.source).toMatch(
      new RegExp(`^https://${SERVER}:${httpsPort}/boot/[\\w-]{22}/config\\.ign$`),
    );

    expect(stages.at(-1)).toEqual({ stage: 'installed', message: '4593.2.5 on /dev/vdb' });
    expect(said).toMatch(/GUEST: systemctl reboot\n(GUEST: known .*\n)*GUEST: known "stage":"installed"\n/);
    expect(said).not.toContain('GUEST: stays up');

    // The first boot from that disk gets the host's own configuration.
    const ca = await readFile(appliance.dataPath('keys', 'ca.pem'), 'utf8');
    const headers = { authorization: replace.httpHeaders[0].value };
    const source = replace.source.replace(SERVER, '127.0.0.1');
    const { status, body } = await ask(source, { headers, ca });
    expect(status, body).toBe(200);
    expect(body).toContain('railhead-register.service');
  });

  it('writes nothing when the selector fits both disks, and it is said', async () => {
    const { said, stages, right } = await install('both');
    expect(right.equals(Buffer.alloc(DISK_BYTES)), 'nothing was written').toBe(true);
    expect(stages.at(-1)).toEqual({
      stage: 'failed',
      message: 'the selector fits more than one disk: /dev/vda and /dev/vdb; say which (serial, wwn)',
    });
    expect(said).toContain('GUEST: stays up: /opt/railhead/bin/railhead-install ended with 1');
    expect(said).not.toContain('GUEST: systemctl');
  });

  it('does not restart into an image that somebody has changed, and leaves nothing to boot', async () => {
    const served = join(appliance.site.dir, 'assets/flatcar', RELEASE, IMAGE);
    await rename(served, `${served}.right`);
    await writeFile(served, packed(join(dir, 'older')));
    const { said, stages, right } = await install('tampered');
    expect(said).toContain('BAD signature from "A test <test@example.org>"');
    expect(stages.at(-1)).toMatchObject({
      stage: 'failed',
      message: expect.stringContaining(`GPG signature verification failed for ${IMAGE}`),
    });
    expect(stages.map(({ stage }) => stage)).not.toContain('installed');
    expect(right.toString('latin1', 512, 520), 'its table of partitions is gone').not.toBe('EFI PART');
    expect(said).toContain('GUEST: stays up: /opt/railhead/bin/railhead-install ended with 1');
    expect(said).not.toContain('GUEST: systemctl');
  });
});

function packed(file: string): Buffer {
  return execFileSync('bzip2', ['--stdout', file], { maxBuffer: DISK_BYTES });
}
