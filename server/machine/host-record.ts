/** What is known about a host besides the inventory: flags that people set, and what was seen. */
export interface HostRecord {
  /** When it last reported a finished installation to disk. */
  installedAt?: number;
  /** When a person asked for a new installation. Cleared by the host's own report, never by a menu. */
  reinstallAt?: number;
  /** Why it is held back: a person's words, or the breaker's. */
  hold?: { reason: string; since: number };
  /** It has been a working node before. */
  everReady: boolean;
  /** Boot attempts in a row that got nowhere. */
  failures: number;
  /** When the last of them was opened. */
  lastAttemptAt?: number;
  /** Its machine was heard of a moment ago, and did not say that it goes down. */
  isRunning?: boolean;
}

export const NO_RECORD: HostRecord = { everReady: false, failures: 0 };
