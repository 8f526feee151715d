import type { HostSpec } from '../inventory/model.ts';

/** What the firmware of a machine says of it. Unknown where the firmware says nothing, or something useless. */
export interface Hardware {
  uuid?: string | undefined;
  serial?: string | undefined;
}

/** Everything that the answer to "is this machine the host?" depends on. */
export interface RegistrationFacts {
  host: Pick<HostSpec, 'name' | 'identity'>;
  /** Whether it came with the token of a boot of this host. */
  hasBootToken: boolean;
  hardware: Hardware;
  /** Whose data partition it has, as the partition says. */
  partition?: { host: string; generation: number } | undefined;
  /** The identity that has this secret, of whatever host. */
  owner: { host: string; generation: number; isLive: boolean; hardware: Hardware } | undefined;
  /** The identity that the host has now. */
  current: { generation: number; hardware: Hardware; silentMs: number; isRebooting: boolean } | undefined;
  /** The provisioning window of the host, if one is open and not expired. */
  window: { reason: WindowReason; isUsed: boolean } | undefined;
  newHosts: 'accept' | 'ask';
  /** An identity that was silent for this long has stopped. */
  silenceMs: number;
}

export type WindowReason = 'first boot' | 'reinstall' | 'trust' | 'boot';

export type RegistrationDecision =
  /** The host's identity, in whatever boot. */
  | { action: 'known' }
  /** A new identity of the host: it takes the window. */
  | { action: 'new-identity' }
  /** Another boot of a machine that keeps nothing: the same identity with another secret. */
  | { action: 'new-boot' }
  /** It gets nothing and asks again; an operator may decide. `alarms`: the operator should know. */
  | { action: 'candidate'; reason: string; alarms: boolean }
  | { action: 'unauthenticated' };

/** THE answer to "is this machine the host?". Pure. */
export function decideRegistration(facts: RegistrationFacts): RegistrationDecision {
  const { host, owner, current, window, hardware, partition } = facts;
  const candidate = (reason: string, alarms = true): RegistrationDecision => ({
    action: 'candidate',
    reason,
    alarms,
  });
  if (owner !== undefined && owner.host !== host.name) {
    return candidate(`it has the secret of ${owner.host} (generation ${owner.generation})`);
  }
  if (partition !== undefined && partition.host !== host.name) {
    return candidate(`its data partition is that of ${partition.host} (generation ${partition.generation})`);
  }
  if (owner?.isLive) {
    const other = otherHardware(owner.hardware, hardware);
    return other === undefined
      ? { action: 'known' }
      : candidate(`it has the secret of ${host.name}, but ${other}`);
  }
  if (!facts.hasBootToken) return { action: 'unauthenticated' };
  if (owner !== undefined) return candidate(`it was ${host.name} in generation ${owner.generation}`);
  if (host.identity === 'boot' && current !== undefined && window?.reason !== 'reinstall') {
    const other = otherHardware(current.hardware, hardware);
    if (other !== undefined) return candidate(`${host.name} is another machine: ${other}`);
    if (current.isRebooting || current.silentMs >= facts.silenceMs) return { action: 'new-boot' };
    const seconds = Math.round(current.silentMs / 1000);
    return candidate(`the former boot of ${host.name} was heard of ${seconds} s ago`, false);
  }
  if (window === undefined || window.isUsed) {
    const has = current === undefined ? '' : ` (generation ${current.generation})`;
    return candidate(`${host.name} is another machine${has}`);
  }
  if (window.reason === 'first boot' && facts.newHosts === 'ask') {
    return candidate('it is new, and `newHosts` is `ask`');
  }
  return { action: 'new-identity' };
}

/** How the hardware differs from the one that has registered; what only one side knows says nothing. */
function otherHardware(before: Hardware, now: Hardware): string | undefined {
  for (const [key, name] of [
    ['uuid', 'UUID'],
    ['serial', 'serial number'],
  ] as const) {
    const [old, current] = [before[key], now[key]];
    if (old !== undefined && current !== undefined) {
      return old === current ? undefined : `its ${name} is ${current}, not ${old}`;
    }
  }
  return undefined;
}
