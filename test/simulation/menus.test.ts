import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { ipxeStart } from '../../server/netboot/ipxe-start.ts';
import { type MenuInput, type MenuKind, renderMenu } from '../../server/netboot/menus.ts';
import { readIpxe } from '../../server/simulation/ipxe-script.ts';
import { configUrlOf, MenuFault, tokenOf } from '../../server/simulation/menu.ts';
import { readPxelinux } from '../../server/simulation/pxelinux-menu.ts';
import { templatesIn } from '../support/http-context.ts';

const templates = templatesIn(fileURLToPath(new URL('../../templates', import.meta.url)));
const baseUrl = 'http://10.0.0.5:8080';
const token = 'abcdefghijklmnopqrstuv';
const read = (kind: MenuKind, what: MenuInput['what']) => {
  const text = renderMenu(templates, kind, { title: 'sim-001: because', what });
  return kind === 'ipxe' ? readIpxe(text, {}) : readPxelinux(text);
};

describe.each(['pxelinux', 'ipxe'] as const)('the server’s own %s menu', (kind) => {
  it('boots', () => {
    const what = { boots: true, baseUrl, token, initrdName: 'initrd.gz', kernelArguments: ['a=b'] } as const;
    const { title, order } = read(kind, what);
    expect(title).toBe('Railhead: sim-001: because');
    if (order.do !== 'boot') return expect.fail(order.do);
    expect(order.kernelUrl).toBe(`${baseUrl}/boot/${token}/kernel`);
    expect(order.initrdUrls).toEqual([`${baseUrl}/boot/${token}/initrd/initrd.gz`]);
    expect(order.arguments).toContain('a=b');
    expect(configUrlOf(order.arguments)).toBe(`${baseUrl}/boot/${token}/pointer.ign`);
    expect(tokenOf(order.kernelUrl)).toBe(token);
  });

  it('lets it wait', () => {
    const { order } = read(kind, { waits: 30, againUrl: `${baseUrl}/boot.ipxe?mac=x` });
    expect(order).toEqual(
      kind === 'ipxe'
        ? { do: 'chain', url: `${baseUrl}/boot.ipxe?mac=x`, afterSeconds: 30 }
        : { do: 'reboot', afterSeconds: 30 },
    );
  });

  it.each(['auto', 'exit', 'sanboot', 'localboot'] as const)('sends it to its own disk: %s', (local) => {
    expect(read(kind, { local }).order).toEqual({ do: 'local' });
  });
});

describe('an iPXE script', () => {
  it('asks with what the machine is', () => {
    const settings = { 'netX/mac': '02:52:48:00:00:01', uuid: 'u', serial: '', manufacturer: 'A & B' };
    expect(readIpxe(ipxeStart(baseUrl), settings).order).toEqual({
      do: 'chain',
      url: `${baseUrl}/boot.ipxe?mac=02:52:48:00:00:01&uuid=u&serial=&vendor=A%20%26%20B`,
      afterSeconds: 0,
    });
  });

  it.each([
    ['', /start with/],
    ['#!ipxe\necho nothing', /end without/],
    ['#!ipxe\nboot', /without a kernel/],
    ['#!ipxe\nchain', /to nothing/],
  ])('that is none is a fault: %j', (text, message) => {
    expect(() => readIpxe(text, {})).toThrow(MenuFault);
    expect(() => readIpxe(text, {})).toThrow(message);
  });
});

it('a pxelinux menu without its default label is a fault', () => {
  expect(() => readPxelinux('DEFAULT a\nLABEL b\n LOCALBOOT -1')).toThrow(MenuFault);
  expect(() => readPxelinux('<html>')).toThrow(MenuFault);
  expect(() => readPxelinux('DEFAULT a\nLABEL a\n APPEND x')).toThrow(/KERNEL/);
});
