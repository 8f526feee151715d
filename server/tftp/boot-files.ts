import { basename } from 'node:path';
import { ipxeStart } from '../boot/ipxe-start.ts';
import type { BootService } from '../boot/service.ts';
import { normaliseMac } from '../inventory/mac.ts';
import { normaliseUuid } from '../inventory/uuid.ts';
import { ERROR_CODE } from './codec.ts';
import type { FileRequest, Resolution, Resolver } from './resolve.ts';

/** Menus that are made when they are asked for, under the names that boot loaders look for. */
export function bootFiles(boot: BootService, baseUrl: () => string): Resolver {
  return async (request) => {
    const { name } = request;
    // Boot loaders look in the folder that they came from, such as efi64/.
    if (basename(name) === 'autoexec.ipxe') return text(ipxeStart(baseUrl()));
    const config = /(?:^|\/)pxelinux\.cfg\/([^/]+)$/.exec(name)?.[1];
    if (config !== undefined) return pxelinux(boot, request, config);
    const grub = /^(?:grub\/|boot\/grub\/)?grub\.cfg(?:-(.*))?$/.exec(name);
    if (grub !== null) return grubConfig(boot, request, grub[1]);
    return undefined;
  };
}

/**
 * pxelinux looks for its UUID, then `01-<mac>`, then its address in hex, cut shorter and shorter, then `default`.
 * Misses must be quick. Only the MAC's file and `default` tell a stranger what it is: a UUID that fits no host may
 * belong to a host that is known by its MAC.
 */
async function pxelinux(
  boot: BootService,
  { address }: FileRequest,
  file: string,
): Promise<Resolution | undefined> {
  const mac = file.startsWith('01-') ? normaliseMac(file.slice(3)) : undefined;
  if (mac !== undefined) return menu(boot, { mac, address });
  const uuid = normaliseUuid(file);
  if (uuid !== undefined)
    return boot.identify({ uuid }).kind === 'host' ? menu(boot, { uuid, address }) : undefined;
  return file === 'default' ? menu(boot, { address }) : undefined;
}

async function menu(boot: BootService, claim: Parameters<BootService['menu']>[1]): Promise<Resolution> {
  try {
    return text((await boot.menu('pxelinux', claim)).body);
  } catch (error) {
    return { code: ERROR_CODE.undefined, reason: (error as Error).message };
  }
}

/** GRUB looks for `grub.cfg-01-<mac>`, then its address in hex, then `grub.cfg`. */
async function grubConfig(
  boot: BootService,
  { address }: FileRequest,
  suffix: string | undefined,
): Promise<Resolution | undefined> {
  const mac = suffix?.startsWith('01-') ? normaliseMac(suffix.slice(3)) : undefined;
  if (suffix !== undefined && mac === undefined) return undefined;
  return text((await boot.menu('grub', { mac, address })).body);
}

function text(body: string): Resolution {
  return { content: Buffer.from(body, 'utf8') };
}
