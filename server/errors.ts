/**
 * Every error that Railhead raises on purpose, in one table: its code, the HTTP status it maps to and the
 * exit code of a command that ends with it. People search for the code; programs switch on it.
 */
export const EXIT = {
  ok: 0,
  /** What was looked at is not right: `check` found errors, `doctor` found a fault. */
  notRight: 1,
  /** The command line or a setting is wrong. */
  usage: 2,
  /** No server answers, or it refused. */
  server: 3,
  /** The machine stands in the way: rights, disk, ports, a damaged database. */
  environment: 4,
  /** A bug in Railhead. */
  internal: 70,
} as const;

const ERRORS = {
  RH_INTERNAL: { status: 500, exit: EXIT.internal },
  RH_USAGE: { status: 400, exit: EXIT.usage },
  RH_SETTINGS_INVALID: { status: 500, exit: EXIT.usage },
  RH_REQUEST_INVALID: { status: 400, exit: EXIT.usage },
  RH_NOT_FOUND: { status: 404, exit: EXIT.notRight },
  RH_HOST_UNKNOWN: { status: 404, exit: EXIT.notRight },
  RH_REVISION_UNKNOWN: { status: 404, exit: EXIT.notRight },
  RH_UNAUTHENTICATED: { status: 401, exit: EXIT.server },
  RH_FORBIDDEN: { status: 403, exit: EXIT.server },
  RH_SERVER_NOT_RUNNING: { status: 503, exit: EXIT.server },
  RH_SERVER_ANSWER: { status: 502, exit: EXIT.server },
  RH_STOPPING: { status: 503, exit: EXIT.server },
  RH_INVENTORY_INVALID: { status: 422, exit: EXIT.notRight },
  RH_INVENTORY_UNREADABLE: { status: 503, exit: EXIT.environment },
  RH_DATA_UNUSABLE: { status: 503, exit: EXIT.environment },
  RH_DATA_IN_USE: { status: 409, exit: EXIT.environment },
  RH_DISK_FULL: { status: 507, exit: EXIT.environment },
  RH_PORT_UNUSABLE: { status: 503, exit: EXIT.environment },
  RH_STORE_CORRUPT: { status: 503, exit: EXIT.environment },
  RH_STORE_NEWER: { status: 503, exit: EXIT.environment },
  RH_STORE_UNREACHABLE: { status: 503, exit: EXIT.environment },
  RH_STORE_NOT_EMPTY: { status: 409, exit: EXIT.environment },
  RH_TEMPLATE_FAILED: { status: 500, exit: EXIT.notRight },
  RH_TOKEN_REFUSED: { status: 403, exit: EXIT.server },
  RH_CANDIDATE: { status: 503, exit: EXIT.server },
  RH_HOST_HELD: { status: 503, exit: EXIT.server },
  RH_CONFIG_UNAVAILABLE: { status: 503, exit: EXIT.notRight },
  RH_SECRET_MISSING: { status: 503, exit: EXIT.environment },
  RH_VAULT_KEY: { status: 503, exit: EXIT.environment },
  RH_TOKEN_UNKNOWN: { status: 404, exit: EXIT.server },
  RH_IMAGE_UNAVAILABLE: { status: 503, exit: EXIT.environment },
  RH_SIMULATION_REFUSED: { status: 409, exit: EXIT.server },
  RH_ASSETS_BUSY: { status: 409, exit: EXIT.server },
  RH_CONTENT_WRONG: { status: 422, exit: EXIT.notRight },
  RH_SYSEXT_INVALID: { status: 422, exit: EXIT.notRight },
  RH_SYSEXT_EXISTS: { status: 409, exit: EXIT.notRight },
  RH_SYSEXT_NEEDED: { status: 409, exit: EXIT.notRight },
  RH_TOOL_MISSING: { status: 503, exit: EXIT.environment },
  RH_CLUSTER_UNKNOWN: { status: 404, exit: EXIT.notRight },
  RH_PIPELINE_REFUSED: { status: 409, exit: EXIT.notRight },
  RH_CLUSTER_WAITS: { status: 503, exit: EXIT.notRight },
  RH_CLUSTER_ALIVE: { status: 409, exit: EXIT.notRight },
  RH_CLUSTER_SECRETS: { status: 422, exit: EXIT.notRight },
  RH_BACKUP_INVALID: { status: 422, exit: EXIT.notRight },
} as const satisfies Record<`RH_${string}`, { status: number; exit: number }>;

export type ErrorCode = keyof typeof ERRORS;

export interface ErrorBody {
  error: { code: ErrorCode; message: string; hint?: string; details?: unknown };
}

export interface ErrorExtras {
  /** What the person should do now. */
  hint?: string;
  /** Machine-readable facts; never a secret. */
  details?: unknown;
  cause?: unknown;
}

export class RailheadError extends Error {
  override readonly name = 'RailheadError';
  readonly code: ErrorCode;
  readonly hint: string | undefined;
  readonly details: unknown;

  constructor(code: ErrorCode, message: string, extras: ErrorExtras = {}) {
    super(message, extras.cause === undefined ? undefined : { cause: extras.cause });
    this.code = code;
    this.hint = extras.hint;
    this.details = extras.details;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  get exitCode(): number {
    return ERRORS[this.code].exit;
  }

  toBody(): ErrorBody {
    const error: ErrorBody['error'] = { code: this.code, message: this.message };
    if (this.hint !== undefined) error.hint = this.hint;
    if (this.details !== undefined) error.details = this.details;
    return { error };
  }
}

/** `undefined` for an error that is not a system error, so that callers can switch on it. */
export function systemCode(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === 'string' ? code : undefined;
}

/**
 * The one mapper from "anything that was thrown" to a coded error. What nobody foresaw becomes RH_INTERNAL,
 * whose message says nothing about its cause: that goes to the log only.
 */
export function toRailheadError(error: unknown): RailheadError {
  if (error instanceof RailheadError) return error;
  const code = systemCode(error) ?? '';
  // A full disk shows itself to SQLite in several ways: its log or its index can't grow. 53100 is PostgreSQL's word.
  if (/^(ENOSPC|EDQUOT|EROFS|SQLITE_FULL|SQLITE_IOERR|SQLITE_READONLY|53100)/.test(code)) {
    return new RailheadError('RH_DISK_FULL', 'The disk that holds the data is full, or fails.', {
      hint: 'Free some space; nothing that was acknowledged is lost.',
      cause: error,
    });
  }
  if (/^SQLITE_(CORRUPT|NOTADB)/.test(code)) {
    return new RailheadError('RH_STORE_CORRUPT', 'The database is damaged.', {
      hint: 'Stop Railhead, keep the file, and run `npx railhead restore FILE --replace` with a backup.',
      cause: error,
    });
  }
  // The class of connection faults, and "the server is being shut down".
  if (/^(08...|57P0.|ECONNREFUSED|ECONNRESET)$/.test(code)) {
    return new RailheadError('RH_STORE_UNREACHABLE', 'The database can not be reached.', {
      hint: 'It is tried again with every request; look at PostgreSQL.',
      cause: error,
    });
  }
  return new RailheadError('RH_INTERNAL', 'Something went wrong inside Railhead.', {
    hint: 'This is a bug. The log has the details.',
    cause: error,
  });
}
