import type { Logger } from 'pino';
import type { RailheadError } from '../errors.ts';
import type { Settings } from '../settings.ts';

export interface AppOptions {
  settings: Settings;
  logger: Logger;
  /** The inventory folder's name in messages. */
  inventoryShownAs: string;
  /** The Node that runs this, for messages about rights. */
  nodeBinary: string;
  /** Where secrets of the inventory may be found, besides files. */
  env: Readonly<Record<string, string | undefined>>;
  /** Sends a signal to a process, or to a group (-pid). */
  sendSignal: (pid: number, signal: NodeJS.Signals) => boolean;
  /** It can't go on safely: the process must end at once. */
  onFatal: (error: RailheadError) => void;
}
