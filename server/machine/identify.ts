import { withoutControls } from '../document/printable.ts';
import type { InventoryIndex } from '../inventory/index.ts';
import { isJunkSerial, isJunkUuid } from '../inventory/junk-identity.ts';
import { normaliseMac } from '../inventory/mac.ts';
import type { HostSpec } from '../inventory/model.ts';
import { normaliseUuid } from '../inventory/uuid.ts';

/** What a machine says about itself, in whatever spelling. */
export interface Claim {
  mac?: string | undefined;
  uuid?: string | undefined;
  serial?: string | undefined;
  /** Where the request came from. */
  address?: string | undefined;
}

/** A claim in our spelling, without what identifies nobody. */
export interface Identity {
  mac?: string;
  uuid?: string;
  serial?: string;
  address?: string;
}

export type Identified =
  | { kind: 'host'; host: HostSpec; identity: Identity }
  | { kind: 'unknown'; identity: Identity }
  /** What it says fits two hosts: giving it either one's system could wipe the wrong disk. */
  | { kind: 'ambiguous'; hosts: [HostSpec, HostSpec]; identity: Identity; reason: string };

/** Which host of the inventory this is. */
export function identify(index: InventoryIndex, claim: Claim): Identified {
  const identity = toIdentity(claim);
  const matches = [
    {
      what: `MAC ${identity.mac}`,
      host: identity.mac === undefined ? undefined : index.hostByMac(identity.mac),
    },
    {
      what: `UUID ${identity.uuid}`,
      host: identity.uuid === undefined ? undefined : index.hostByUuid(identity.uuid),
    },
    {
      what: `serial ${identity.serial}`,
      host: identity.serial === undefined ? undefined : index.hostBySerial(identity.serial),
    },
  ].flatMap(({ what, host }) => (host === undefined ? [] : [{ what, host }]));
  const [first, ...others] = matches;
  if (first === undefined) return byAddress(index, identity);
  const other = others.find(({ host }) => host !== first.host);
  if (other === undefined) return { kind: 'host', host: first.host, identity };
  return {
    kind: 'ambiguous',
    hosts: [first.host, other.host],
    identity,
    reason: `its ${first.what} is ${first.host.name}'s, but its ${other.what} is ${other.host.name}'s`,
  };
}

/** An address is borrowed, so it counts only where a machine tells nothing of its own. */
function byAddress(index: InventoryIndex, identity: Identity): Identified {
  const says = identity.mac ?? identity.uuid ?? identity.serial;
  const host =
    says === undefined && identity.address !== undefined ? index.hostByIp(identity.address) : undefined;
  return host === undefined ? { kind: 'unknown', identity } : { kind: 'host', host, identity };
}

function toIdentity({ mac, uuid, serial, address }: Claim): Identity {
  const identity: Identity = {};
  const ownMac = mac === undefined ? undefined : normaliseMac(mac);
  if (ownMac !== undefined) identity.mac = ownMac;
  const ownUuid = uuid === undefined ? undefined : normaliseUuid(uuid);
  if (ownUuid !== undefined && !isJunkUuid(ownUuid)) identity.uuid = ownUuid;
  const ownSerial = withoutControls(serial ?? '');
  if (ownSerial !== '' && !isJunkSerial(ownSerial)) identity.serial = ownSerial;
  if (address !== undefined) identity.address = address;
  return identity;
}
