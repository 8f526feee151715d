/** Why something could not be fetched. */
export class FetchFault extends Error {
  override readonly name = 'FetchFault';
  /** It may go better another time. */
  readonly passes: boolean;
  /** There is no such file, as the server says. */
  readonly isAbsent: boolean;
  /** How long the server wants us to wait. */
  readonly waitMs: number | undefined;

  constructor(
    message: string,
    options: { passes?: boolean; isAbsent?: boolean; waitMs?: number | undefined; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.passes = options.passes ?? false;
    this.isAbsent = options.isAbsent ?? false;
    this.waitMs = options.waitMs;
  }
}

/** What to tell a person about anything that was thrown while fetching. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
