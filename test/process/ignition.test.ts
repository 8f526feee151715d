import { mkdtempSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { validateIgnition } from '../../server/ignition/validate.ts';
import { debianJudge, judge } from '../interop/ignition/judges.ts';
import { edit, sharedAppliance } from '../support/appliance.ts';
import { cliHere, cliOn } from '../support/cli.ts';
import { until } from '../support/poll.ts';
import { tempFolder } from '../support/temp.ts';

const MINE =
  'variant: flatcar\nversion: 1.0.0\nstorage:\n  files:\n    - path: /etc/mine\n      contents: {inline: "for {{host.name}}\\n"}\n';
const templates = mkdtempSync(join(tmpdir(), 'railhead-templates-'));
afterAll(() => rm(templates, { recursive: true, force: true }));

const appliance = sharedAppliance({ env: { RAILHEAD_TEMPLATES: templates } });
const debian = await debianJudge();

async function write(name: string, text: string): Promise<void> {
  await mkdir(join(templates, 'ignition'), { recursive: true });
  await writeFile(join(templates, name), text);
}

describe('what a host would get', () => {
  it("passes Ignition's own judge as it is shown", async () => {
    for (const host of ['n1', 'n2', 'n3']) {
      const { status, headers, body } = await appliance().ask(`/ignition/${host}`);
      expect({ status, redacted: headers['x-railhead-redacted'] }).toEqual({ status: 200, redacted: 'yes' });
      expect(validateIgnition(body).filter(({ severity }) => severity === 'error')).toEqual([]);
      if (debian !== undefined) expect(await judge(debian, [body])).toEqual([{ good: true, errorPaths: [] }]);
    }
  });

  it('`railhead render` prints the same as curl; one file; the Butane; the menu', async () => {
    const cli = cliOn(appliance().site);
    const shown = (await appliance().ask('/ignition/n1')).body;
    expect(await cli('render', 'n1')).toMatchObject({ code: 0, stdout: shown });
    expect(await cli('render', '52:54:00:12:34:01', '--file', '/etc/hostname')).toMatchObject({
      stdout: 'n1\n',
    });
    expect((await cli('render', 'n1', '--what', 'butane')).stdout).toMatch(
      /^# ignition\/base\.bu\nvariant: flatcar\n/,
    );
    expect((await cli('render', 'n1', '--what', 'menu')).stdout).toMatch(/^#!ipxe/);
    const { name, what, text } = JSON.parse((await cli('render', 'n1', '--json')).stdout);
    expect({ name, what, text }).toEqual({ name: 'n1', what: 'ignition', text: shown });
    expect(await cli('render', 'nobody')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('nobody'),
    });
  });

  it('`railhead render --inventory` needs no server, and is right in the eyes of Ignition', async () => {
    const { inventory } = appliance().site;
    for (const more of [[], ['--purpose', 'installer']]) {
      const { code, stdout, stderr } = await cliHere(['render', 'n1', '--inventory', inventory, ...more]);
      expect(code, stderr).toBe(0);
      expect(validateIgnition(stdout).filter(({ severity }) => severity === 'error')).toEqual([]);
    }
    const file = await cliHere(['render', 'n1', '--inventory', inventory, '--file', '/etc/hostname']);
    expect(file).toMatchObject({ code: 0, stdout: 'n1\n' });
    const none = await cliHere(['render', 'n1', '--inventory', inventory, '--file', '/nope']);
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('/nope') });
    const asFiles = await tempFolder();
    const text = await readFile(join(inventory, 'example.yaml'), 'utf8');
    await writeFile(
      join(asFiles, 'a.yaml'),
      text.replace('os: flatcar', 'os: flatcar\n    sysexts: ignition'),
    );
    expect(await cliHere(['render', 'n1', '--inventory', asFiles])).toMatchObject({ code: 0 });
    expect(await cliHere(['render', 'n1', '--inventory', await tempFolder()])).not.toMatchObject({ code: 0 });
  });

  it("a person's own template takes the place of a built-in one, at once; a fault in it is said with its line", async () => {
    const cli = cliOn(appliance().site);
    await write('ignition/base.bu', MINE);
    const shown = await until("one's own is taken", async () => {
      const { stdout } = await cli('render', 'n2', '--file', '/etc/mine');
      return stdout !== '' && stdout;
    });
    expect(shown).toBe('for n2\n');
    await write('ignition/base.bu', MINE.replace('host.name', 'host.nmae'));
    const fault = await until('the fault is said', async () => {
      const { code, stderr } = await cli('render', 'n2');
      return code !== 0 && { code, stderr };
    });
    expect(fault.code).toBe(1);
    expect(fault.stderr).toContain(`${join(templates, 'ignition/base.bu')}:6:`);
    expect(fault.stderr).toContain('unknown name "nmae" in "host"; did you mean "name"?');
    await rm(join(templates, 'ignition/base.bu'));
    await until('the built-in one is back', async () => (await cli('render', 'n2')).code === 0);
  });

  it('`--diff` shows what an edit of the inventory changes for a host', async () => {
    const cli = cliOn(appliance().site);
    const { revision } = await appliance().readyz();
    expect(await cli('render', 'n3', '--diff', revision!)).toMatchObject({ code: 0, stdout: 'No change.\n' });
    await edit(appliance().site, (text) => text.replace('kubernetes: 1.36.4', 'kubernetes: 1.36.5'));
    await until('the edit is taken', async () => (await appliance().readyz()).revision !== revision);
    const { stdout } = await cli('render', 'n3', '--file', '/etc/railhead/sysexts', '--diff', revision!);
    expect(stdout).toContain('-kubernetes v1.36.4');
    expect(stdout).toContain('+kubernetes v1.36.5');
  });
});
