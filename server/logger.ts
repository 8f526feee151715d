import pino, { type Logger } from 'pino';
import pretty from 'pino-pretty';
import type { Settings } from './settings.ts';

/** Names of fields that must never reach a log, wherever they turn up. */
const SECRET_FIELDS = ['authorization', 'password', 'token', 'databaseUrl', 'passphrase'];

/** Logs go to standard error; standard output is for what a person asked to see. */
export function makeLogger(
  { logLevel, logFormat }: Pick<Settings, 'logLevel' | 'logFormat'>,
  isTerminal: boolean,
): Logger {
  const isPretty = logFormat === 'pretty' || (logFormat === 'auto' && isTerminal);
  // Synchronous: the last line before a crash is the one that is needed.
  const destination = isPretty
    ? pretty({
        destination: 2,
        sync: true,
        ignore: 'pid,hostname',
        translateTime: 'SYS:HH:MM:ss',
        colorize: isTerminal,
      })
    : pino.destination({ dest: 2, sync: true });
  return pino(
    {
      level: logLevel,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: {
        paths: SECRET_FIELDS.flatMap((field) => [field, `*.${field}`, `*.headers.${field}`]),
        censor: '***',
      },
    },
    destination,
  );
}
