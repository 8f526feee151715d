import { basename } from 'node:path';
import { normaliseMac } from '../inventory/mac.ts';
import { normaliseUuid } from '../inventory/uuid.ts';
import { ipxeStart } from '../netboot/ipxe-start.ts';
import type { MenuKind } from '../netboot/menus.ts';
import type { BootService } from '../netboot/service.ts';
import { ERROR_CODE } from './codec.ts';
import { RecentUuids } from './recent-uuids.ts';
import type { FileRequest, Resolution, Resolver } from './resolve.ts';

/** GRUB's folders: where Debian's network images look, for each kind of firmware, and the plain ones. */
const GRUB_CONFIG = /^(?:(?:EFI|boot)\/[\w-]+\/)?(?:grub\/)?(?:[\w-]+-(?:efi|pc)\/)?grub\.cfg(?:-(.+))?$/i;

/** Menus that are made when they are asked for, under the names that boot loaders look for. */
export function bootFiles(boot: BootService, baseUrl: () => string, now: () => number): Resolver {
  const uuids = new RecentUuids(now);
  return async (request) => {
    const { name } = request;
    // Boot loaders look in the folder that they came from, such as efi64/.
    if (basename(name) === 'autoexec.ipxe') return text(ipxeStart(baseUrl()));
    const config = /(?:^|\/)pxelinux\.cfg\/([^/]+)$/.exec(name)?.[1];
    if (config !== undefined) return pxelinux(boot, uuids, request, config);
    const grub = GRUB_CONFIG.exec(name);
    if (grub !== null) return grubConfig(boot, request, grub[1]);
    return undefined;
  };
}

/**
 * pxelinux looks for its UUID, then `01-<mac>`, then its address in hex, cut shorter and shorter, then `default`.
 * Misses must be quick. Only the MAC's file and `default` tell a stranger what it is: a UUID that fits no host may
 * belong to a host that is known by its MAC. And since boards share UUIDs, one that fits a host with MACs is only
 * remembered: the request that follows tells the MAC, and both together tell the host.
 */
async function pxelinux(
  boot: BootService,
  uuids: RecentUuids,
  { address }: FileRequest,
  file: string,
): Promise<Resolution | undefined> {
  const mac = file.startsWith('01-') ? normaliseMac(file.slice(3)) : undefined;
  if (mac !== undefined) return menu(boot, 'pxelinux', { mac, uuid: uuids.of(address), address });
  const uuid = normaliseUuid(file);
  if (uuid !== undefined) {
    uuids.note(address, uuid);
    const identified = boot.identify({ uuid });
    const isEnough = identified.kind === 'host' && identified.host.macs.length === 0;
    return isEnough ? menu(boot, 'pxelinux', { uuid, address }) : undefined;
  }
  return file === 'default' ? menu(boot, 'pxelinux', { uuid: uuids.of(address), address }) : undefined;
}

/** GRUB looks for `grub.cfg-01-<mac>`, then its address in hex, then `grub.cfg`. */
async function grubConfig(
  boot: BootService,
  { address }: FileRequest,
  suffix: string | undefined,
): Promise<Resolution | undefined> {
  const mac = suffix?.startsWith('01-') ? normaliseMac(suffix.slice(3)) : undefined;
  if (suffix !== undefined && mac === undefined) return undefined;
  return menu(boot, 'grub', { mac, address });
}

async function menu(
  boot: BootService,
  kind: MenuKind,
  claim: Parameters<BootService['menu']>[1],
): Promise<Resolution> {
  try {
    return text((await boot.menu(kind, claim)).body);
  } catch (error) {
    return { code: ERROR_CODE.undefined, reason: (error as Error).message };
  }
}

function text(body: string): Resolution {
  return { content: Buffer.from(body, 'utf8') };
}
