import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type MenuInput, type MenuKind, renderMenu } from '../../server/netboot/menus.ts';
import { templatesIn } from '../support/http-context.ts';
import { tempFolder } from '../support/temp.ts';

const templates = templatesIn(join(import.meta.dirname, '..', '..', 'templates'));
const boots: MenuInput = {
  title: 'n1: it runs from RAM',
  what: {
    boots: true,
    baseUrl: 'http://10.0.0.5:8080',
    token: 'A'.repeat(22),
    initrdName: 'flatcar_production_pxe_image.cpio.gz',
    kernelArguments: ['console=ttyS0'],
  },
};

describe('a machine that boots', () => {
  it('pxelinux', () => {
    expect(renderMenu(templates, 'pxelinux', boots)).toBe(`# Railhead: n1: it runs from RAM
DEFAULT railhead
PROMPT 0
SAY Railhead: n1: it runs from RAM
# When a download fails: try again after 10 s, in place of a prompt that waits for ever.
TIMEOUT 100
LABEL railhead
  KERNEL http://10.0.0.5:8080/boot/AAAAAAAAAAAAAAAAAAAAAA/kernel
  INITRD http://10.0.0.5:8080/boot/AAAAAAAAAAAAAAAAAAAAAA/initrd/flatcar_production_pxe_image.cpio.gz
  APPEND flatcar.first_boot=1 ignition.config.url=http://10.0.0.5:8080/boot/AAAAAAAAAAAAAAAAAAAAAA/pointer.ign console=ttyS0
  SYSAPPEND 2
`);
  });

  it('iPXE names the initrd exactly as Flatcar looks for it', () => {
    const text = renderMenu(templates, 'ipxe', boots);
    expect(text).toMatch(/^#!ipxe\n/);
    expect(text).toMatch(/^kernel http:\S+\/kernel initrd=flatcar_production_pxe_image\.cpio\.gz /m);
    expect(text).toMatch(
      /^initrd --name flatcar_production_pxe_image\.cpio\.gz http:\S+$|\|\| goto failed$/m,
    );
  });

  it('GRUB', () => {
    expect(renderMenu(templates, 'grub', boots)).toContain(
      'linux (http,10.0.0.5:8080)/boot/AAAAAAAAAAAAAAAAAAAAAA/kernel',
    );
  });
});

describe('a machine that boots its own disk', () => {
  it.each<[MenuKind, 'auto' | 'exit' | 'sanboot' | 'localboot', RegExp]>([
    ['pxelinux', 'auto', /^ {2}LOCALBOOT -1$/m],
    ['pxelinux', 'localboot', /^ {2}LOCALBOOT 0$/m],
    ['ipxe', 'auto', /^iseq \$\{platform\} efi && exit 1 \|\| sanboot/m],
    ['ipxe', 'exit', /^exit 1$/m],
    ['ipxe', 'sanboot', /^sanboot --no-describe --drive 0x80 \|\| exit 1$/m],
    ['grub', 'auto', /^ {2}exit$/m],
  ])('%s, %s', (kind, local, expected) => {
    const text = renderMenu(templates, kind, { title: 't', what: { local } });
    expect(text).toMatch(expected);
    expect(text).not.toMatch(/KERNEL|kernel http|linux \(/);
  });
});

it('a machine that has to wait asks again', () => {
  const waits: MenuInput = {
    title: 't',
    what: { waits: 30, againUrl: 'http://10.0.0.5:8080/boot.ipxe?mac=x' },
  };
  expect(renderMenu(templates, 'ipxe', waits)).toMatch(
    /^sleep 30\nchain --replace http:\/\/10\.0\.0\.5:8080\/boot\.ipxe\?mac=x/m,
  );
  expect(renderMenu(templates, 'pxelinux', waits)).toContain('TIMEOUT 300');
  expect(renderMenu(templates, 'grub', waits)).toContain('sleep 30');
});

describe('what must not reach a boot loader', () => {
  it('a value that brings a line of its own', () => {
    const evil = { ...boots, what: { ...boots.what, kernelArguments: ['quiet\nLOCALBOOT 0'] } } as MenuInput;
    expect(() => renderMenu(templates, 'pxelinux', evil)).toThrow(
      expect.objectContaining({ code: 'RH_TEMPLATE_FAILED' }),
    );
  });

  it('a URL longer than its buffer', () => {
    const long = {
      ...boots,
      what: { ...boots.what, baseUrl: `http://${'x'.repeat(80)}.example` },
    } as MenuInput;
    expect(() => renderMenu(templates, 'ipxe', long)).toThrow(/boot loaders take 120/);
  });

  it('a template that uses a name which is not there is said with its file', async () => {
    const dir = await tempFolder();
    await mkdir(join(dir, 'menus'));
    await writeFile(join(dir, 'menus', 'ipxe.hbs'), '#!ipxe\n{{nonsense}}\n');
    expect(() => renderMenu(templatesIn(dir), 'ipxe', boots)).toThrow(/ipxe\.hbs:2:\d+: .*nonsense/);
  });
});
