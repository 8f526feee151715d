import { chmodSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { newestPart } from '../../scripts/lib/part-fetch.mjs';
import type { Part, PartSpec } from '../../scripts/lib/parts.mjs';
import { readRunNotes } from '../../scripts/lib/run-notes.mjs';
import { tempFolder } from '../support/temp.ts';

/** Its archive offers one version of one package; its lists have the version of the last update. */
const APT_GET = `#!/bin/sh
cd "$(dirname "$0")/.."
for last; do case $last in update|install|download) verb=$last; echo $verb >>asked;; esac; done
case $verb in
  update)
    if [ -e offline ]; then
      echo "W: Failed to fetch http://m.example/InRelease  Could not resolve 'm.example'" >&2
    else
      cp offered listed; echo 'Get:1 http://m.example bookworm InRelease'
    fi ;;
  install) echo "Inst thing ($(cat listed) Debian:12.11/oldstable [amd64])" ;;
  download)
    cmp -s listed offered || { echo 'E: Failed to fetch http://m.example/thing.deb  404  Not Found' >&2; exit 100; }
    cp offered "$OLDPWD/thing.deb" ;;
esac
`;
/** An unpacked package is a program that prints its version. */
const DPKG_DEB = `#!/bin/sh
mkdir -p "$3/usr/bin"
printf '#!/bin/sh\\necho thing %s\\n' "$(cat "$2")" >"$3/usr/bin/thing"
chmod 755 "$3/usr/bin/thing"
`;

const SPEC: PartSpec = {
  what: 'thing',
  why: 'a test fetches it',
  packages: ['thing'],
  main: /^thing$/,
  find: (root) => [join(root, 'usr/bin/thing')],
  probe: (path) => [path],
  version: /^thing (\S+)/,
};

describe('the newest version that apt offers', () => {
  let world: string;
  let kept: string;
  let said: string[];

  beforeEach(async () => {
    world = await tempFolder();
    kept = join(world, 'cache', 'parts', 'thing');
    said = [];
    await mkdir(join(world, 'bin'));
    for (const [name, text] of Object.entries({ 'apt-get': APT_GET, 'dpkg-deb': DPKG_DEB })) {
      writeFileSync(join(world, 'bin', name), text);
      chmodSync(join(world, 'bin', name), 0o755);
    }
    vi.stubEnv('PATH', `${join(world, 'bin')}:${process.env.PATH}`);
    vi.stubEnv('RAILHEAD_CACHE', join(world, 'cache'));
    vi.stubEnv('RAILHEAD_RUN_NOTES', join(world, 'notes'));
    vi.useFakeTimers({ toFake: ['Date'] });
    onTestFinished(() => {
      vi.useRealTimers();
      vi.unstubAllEnvs();
    });
    offer('1.0');
  });

  const offer = (version: string): void => writeFileSync(join(world, 'offered'), version);
  const get = (): Promise<Part> => newestPart(SPEC, kept, { forced: false, log: (line) => said.push(line) });
  /** What apt-get was asked since the last time. */
  const asked = (): string[] => {
    const lines = readFileSync(join(world, 'asked'), 'utf8').split('\n').filter(Boolean);
    writeFileSync(join(world, 'asked'), '');
    return lines;
  };
  const later = (hours: number): void => void vi.setSystemTime(Date.now() + hours * 3_600_000);
  const trees = (): string[] => readdirSync(kept).filter((name) => name.endsWith('_amd64'));

  it('is fetched once, and apt is not asked again for some hours', async () => {
    expect(await get()).toMatchObject({ version: '1.0', package: '1.0', source: 'unpacked' });
    expect(asked()).toEqual(['update', 'install', 'download']);
    expect(await get()).toMatchObject({ version: '1.0' });
    expect(asked()).toEqual([]);
  });

  it('is not fetched again when it is still the same', async () => {
    await get();
    later(7);
    asked();
    expect(await get()).toMatchObject({ version: '1.0' });
    expect(asked()).toEqual(['update', 'install']);
  });

  it('takes the place of an older one, which goes when nobody used it for a day', async () => {
    await get();
    later(7);
    offer('1:1.1');
    expect(await get()).toMatchObject({ version: '1:1.1', package: '1:1.1' });
    expect(trees()).toEqual(['1.0_amd64', '1_1.1_amd64']);

    later(20);
    offer('1:1.2');
    expect(await get()).toMatchObject({ version: '1:1.2' });
    expect(trees()).toEqual(['1_1.1_amd64', '1_1.2_amd64']);
  });

  it('is looked up again when the archive no longer has it', async () => {
    await get();
    rmSync(join(kept, '1.0_amd64'), { recursive: true });
    later(1);
    offer('1.1');
    asked();
    expect(await get()).toMatchObject({ version: '1.1' });
    expect(asked()).toEqual(['install', 'download', 'update', 'install', 'download']);
  });

  it('is the last known one without a network, and that is said once', async () => {
    await get();
    later(7);
    writeFileSync(join(world, 'offline'), '');
    said = [];
    asked();
    for (let time = 0; time < 2; time++) expect(await get()).toMatchObject({ version: '1.0' });
    expect(asked()).toEqual(['update']);
    const notes = readRunNotes(join(world, 'notes'));
    expect(notes).toEqual([{ kind: 'version', text: expect.stringMatching(/^PACKAGE LISTS MAY BE OLD/) }]);
    expect(said).toEqual([
      "PACKAGE LISTS MAY BE OLD (own): apt-get update failed: Could not resolve 'm.example'. What was fetched before is used.",
    ]);
  });

  it('is unknown when apt never reached a mirror', async () => {
    writeFileSync(join(world, 'offline'), '');
    await expect(get()).rejects.toThrow("Could not resolve 'm.example'");
  });
});
