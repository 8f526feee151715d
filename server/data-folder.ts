import { constants } from 'node:fs';
import { access, chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import SQLite from 'better-sqlite3';
import { RailheadError, systemCode } from './errors.ts';

/** What a running server writes down about itself, for the command line on the same machine. */
export interface RunningServer {
  pid: number;
  version: string;
  /** Where a client on this machine reaches it. */
  url: string;
  httpPort: number;
  httpsPort: number;
  tftpPort: number;
  advertise: string;
  startedAt: string;
}

/** The folder that holds everything an appliance must not lose: database, keys, and who is using it. */
export class DataFolder {
  readonly dir: string;
  #lock: SQLite.Database | undefined;

  constructor(dir: string) {
    this.dir = dir;
  }

  /** Keys and tokens: readable by the owner only, and part of an encrypted backup. */
  get keys(): string {
    return join(this.dir, 'keys');
  }

  /** Makes the folder and sees that it can be written to. */
  async prepare(): Promise<void> {
    try {
      await mkdir(this.dir, { recursive: true, mode: 0o700 });
      // Asked before anything is made in it: for a read-only disk, Node's mkdir says only "no such file".
      await this.assertWritable();
      await mkdir(this.keys, { recursive: true, mode: 0o700 });
      await chmod(this.keys, 0o700);
    } catch (error) {
      if (error instanceof RailheadError) throw error;
      throw this.#unusable(await whyNotMade(this.dir, error));
    }
  }

  /** Changes nothing. */
  async assertWritable(): Promise<void> {
    await access(this.dir, constants.R_OK | constants.W_OK | constants.X_OK).catch((error: unknown) => {
      throw this.#unusable(error);
    });
  }

  /**
   * Makes this process the only one on the folder. The lock is a lock of the operating system (taken through SQLite,
   * because Node has none): it ends with the process, however that ends, and leaves nothing stale behind.
   */
  async lock(): Promise<void> {
    let lock: SQLite.Database | undefined;
    try {
      lock = new SQLite(join(this.dir, 'lock'), { timeout: 0 });
      lock.pragma('journal_mode = MEMORY'); // nothing is ever written: no journal beside it
      lock.exec('BEGIN EXCLUSIVE');
      // Left by one that was killed: what it says is true of nobody any more.
      await this.sayStopped();
      this.#lock = lock;
    } catch (error) {
      lock?.close();
      if (!systemCode(error)?.startsWith('SQLITE_BUSY')) throw this.#unusable(error, ' (its file "lock")');
      const running = await this.running();
      const who =
        running === undefined
          ? 'Another Railhead'
          : `Another Railhead (process ${running.pid}, ${running.url})`;
      throw new RailheadError('RH_DATA_IN_USE', `${who} is using the data folder ${this.dir}.`, {
        hint: 'Stop it first, or give this one a folder of its own with --data DIR.',
        cause: error,
      });
    }
  }

  #unusable(error: unknown, where = ''): RailheadError {
    const message = `Can't use the data folder ${this.dir}${where}: ${reasonOf(error)}.`;
    const hint = 'Mend its rights, make room, or choose another with --data DIR.';
    return new RailheadError('RH_DATA_UNUSABLE', message, { hint, cause: error });
  }

  unlock(): void {
    this.#lock?.close();
    this.#lock = undefined;
  }

  async sayRunning(server: RunningServer): Promise<void> {
    const file = join(this.dir, 'server.json');
    await writeFile(`${file}.new`, `${JSON.stringify(server, null, 2)}\n`, { mode: 0o644 });
    await rename(`${file}.new`, file);
  }

  async sayStopped(): Promise<void> {
    await rm(join(this.dir, 'server.json'), { force: true });
  }

  /** What the server that runs on this folder, or last did, said about itself. */
  async running(): Promise<RunningServer | undefined> {
    try {
      return JSON.parse(await readFile(join(this.dir, 'server.json'), 'utf8')) as RunningServer;
    } catch {
      return undefined;
    }
  }
}

/** Node's mkdir says "no such file" for any reason that keeps it from making a folder: the nearest parent knows. */
async function whyNotMade(dir: string, error: unknown): Promise<unknown> {
  if (systemCode(error) !== 'ENOENT' || dir === dirname(dir)) return error;
  const parent = dirname(dir);
  return access(parent, constants.W_OK | constants.X_OK).then(
    () => error,
    (reason: unknown) => whyNotMade(parent, reason),
  );
}

function reasonOf(error: unknown): string {
  switch (systemCode(error)) {
    case 'EACCES':
    case 'EPERM':
      return 'no right to write there';
    case 'EROFS':
      return 'the file system is read-only';
    case 'ENOTDIR':
    case 'EEXIST':
      return 'a file is in the way';
    case 'ENOSPC':
    case 'EDQUOT':
      return 'the disk is full';
    default:
      return (error as Error).message;
  }
}
