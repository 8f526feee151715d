import { chmod, cp, mkdir, readFile, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { cliHere } from '../../support/cli.ts';
import { skipped } from '../../support/skipped.ts';
import { mksquashfsEnv, stage } from '../../support/sysext-build.ts';
import { ARCH, SysupdateHost, systemdTrees } from '../../support/sysupdate-host.ts';
import { tempFolder } from '../../support/temp.ts';

const trees = await systemdTrees();
const env = await mksquashfsEnv();
const FLAGS = ['--name', 'hello', '--version', '1.0.0', '--arch', ARCH];

async function build(dir: string, ...flags: string[]): Promise<string> {
  const output = join(await tempFolder(), 'hello.raw');
  const args = ['sysext', 'build', dir, ...FLAGS, '--output', output, '--json', ...flags];
  const { code, stdout, stderr } = await cliHere(args, { env: env! });
  expect([code, stderr]).toEqual([0, '']);
  expect(JSON.parse(stdout)).toMatchObject({ name: 'hello', version: '1.0.0', arch: ARCH, file: output });
  return output;
}

describe.skipIf(env === undefined)('sysext build', () => {
  it('makes the same bytes of the same files, whenever, by whomever and in whichever order', async () => {
    const one = await stage();
    const other = join(await tempFolder(), 'elsewhere');
    await mkdir(join(other, 'opt'), { recursive: true, mode: 0o700 });
    await cp(join(one, 'opt'), join(other, 'opt'), { recursive: true });
    await cp(join(one, 'usr'), join(other, 'usr'), { recursive: true, verbatimSymlinks: true });
    for (const path of ['usr', 'opt', 'opt/hello']) await chmod(join(other, path), 0o755);
    await utimes(join(other, 'usr/bin/hello'), 1, 1);
    const images = await Promise.all([one, other, one].map(async (dir) => readFile(await build(dir))));
    expect(images[1]!.equals(images[0]!)).toBe(true);
    expect(images[2]!.equals(images[0]!)).toBe(true);
  });

  it('takes the extension-release file that is there when it is right, and says what is wrong otherwise', async () => {
    const dir = await stage();
    const folder = join(dir, 'usr/lib/extension-release.d');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'extension-release.hello'), 'ID=flatcar\nSYSEXT_LEVEL=1.0\n');
    await build(dir);
    await writeFile(join(folder, 'extension-release.other'), 'ID=_any\n');
    const { code, stderr } = await cliHere(['sysext', 'build', dir, ...FLAGS], {
      env: env!,
      cwd: dirname(dir),
    });
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /usr\/lib\/extension-release\.d\/extension-release\.other: systemd takes only extension-release\.hello/,
    );
  });

  it('names what can not be in an image, and leaves no file', async () => {
    const dir = await stage();
    await mkdir(join(dir, 'etc'));
    const { code, stderr } = await cliHere(['sysext', 'build', dir, ...FLAGS], {
      env: env!,
      cwd: dirname(dir),
    });
    expect([code, stderr.split('\n')[0]]).toEqual([
      1,
      'RH_SYSEXT_INVALID: etc: only usr/ and opt/ can be in a sysext image.',
    ]);
    await expect(readFile(join(dirname(dir), `hello-1.0.0-${ARCH}.raw`))).rejects.toThrow('ENOENT');
  });

  it('says which package is missing', async () => {
    const nothing = { env: { PATH: await tempFolder() } };
    const { code, stderr } = await cliHere(['sysext', 'build', await stage(), ...FLAGS], nothing);
    expect(code).toBe(4);
    expect(stderr).toMatch(/mksquashfs is not installed\.\n.*squashfs-tools/);
  });

  describe.each(trees)('is what systemd $version takes', (tree) => {
    it('as systemd-dissect and systemd-sysext see it', async (context) => {
      const host = await SysupdateHost.create(tree);
      await host.write('/etc/extensions/hello.raw', await readFile(await build(await stage())));
      const dissected = await host.run('systemd-dissect', '--no-pager', '/etc/extensions/hello.raw');
      if (/loop|Operation not permitted/i.test(dissected.stderr) && dissected.code !== 0) {
        skipped('sysext images in systemd-dissect', `no loop devices here: ${dissected.stderr.trim()}`);
        return context.skip();
      }
      expect([dissected.code, dissected.stdout]).toEqual([
        0,
        expect.stringMatching(/ID=_any[\s\S]*EXTENSION_RELOAD_MANAGER=1/),
      ]);
      expect(dissected.stdout).toMatch(/✓ sysext .*system/);
      const listed = await host.run('systemd-dissect', '--no-pager', '-l', '/etc/extensions/hello.raw');
      expect(listed.stdout.split('\n')).toEqual(
        expect.arrayContaining(['usr/bin/hello', 'opt/hello/data', 'usr/bin/state']),
      );

      // Nobody is there to be told of new units; 254 doesn't try to.
      const merge = `systemd-sysext ${tree.version === '254' ? '' : '--no-reload'} merge`;
      const merged = await host.script(
        `inside ${merge}; inside systemd-sysext --no-pager status; ls "$root/usr/bin/hello" "$root/opt/hello/data"`,
      );
      if (/overlay|Operation not permitted/i.test(merged.stderr) && merged.code !== 0) {
        skipped('merging by systemd-sysext', `no overlay mounts here: ${merged.stderr.trim()}`);
        return context.skip();
      }
      expect(merged.stdout, merged.stderr).toMatch(/\/opt +hello[\s\S]*\/usr +hello/);
      expect(merged.stdout).toMatch(/opt\/hello\/data\n.*usr\/bin\/hello\n/);
    });
  });
});
