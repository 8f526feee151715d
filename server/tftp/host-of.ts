import type { InventoryIndex } from '../inventory/index.ts';
import { normaliseMac } from '../inventory/mac.ts';
import { normaliseUuid } from '../inventory/uuid.ts';

/** Which host a request is from, as far as the file's name (`pxelinux.cfg/01-<mac>`, `…/<uuid>`) or the address tell. */
export function hostOf(index: InventoryIndex, address: string, file: string): string | undefined {
  const last = file.split('/').at(-1) ?? '';
  const mac = normaliseMac(last.replace(/^01-/, ''));
  const uuid = normaliseUuid(last);
  const host =
    (mac === undefined ? undefined : index.hostByMac(mac)) ??
    (uuid === undefined ? undefined : index.hostByUuid(uuid)) ??
    index.hostByIp(address);
  return host?.name;
}
