import type { Command } from 'commander';
import type { RunningApp } from '../app/start.ts';
import { EXIT, type RailheadError, toRailheadError } from '../errors.ts';
import { formatBanner } from './banner.ts';
import { shownAs } from './inventory-folder.ts';
import { type CliIo, print } from './io.ts';
import { settingsFor, settingsHelp, withSettings } from './settings.ts';

/** A stop that takes longer than this is cut short: init systems expect an end. */
const STOP_DEADLINE_MS = 4800;

/** Ctrl+C reaches the whole group, and npm passes it on again: what comes this close together is one wish. */
const SAME_SIGNAL_MS = 1000;

/** What ends sooner than this after Ctrl+C would be killed by its repetition in the moment it ends. */
const CTRL_C_LINGER_MS = 200;

/** How long a start may go on after it was told to stop. */
const START_GRACE_MS = 2000;

export function registerUp(program: Command, io: CliIo): void {
  withSettings(program.command('up'))
    .description('Run the appliance')
    .addHelpText('after', settingsHelp())
    .action(async (flags) => up(io, flags));
}

async function up(io: CliIo, flags: Record<string, unknown>): Promise<void> {
  const settings = await settingsFor(io, flags);
  // Loaded only here: the other commands start faster without the servers.
  const { startApp } = await import('../app/start.ts');
  const { makeLogger } = await import('../logger.ts');
  const logger = makeLogger(settings, io.stderr.isTTY);

  let stopNow: (signal: string) => void;
  const stopped = new Promise<string>((resolve) => {
    stopNow = resolve;
  });
  let app: RunningApp | undefined;
  let asked: number | undefined;
  io.outliveOutput();
  io.onSignal((signal) => {
    // SIGHUP is the order to reload; but from a terminal that closes, it means what it always meant.
    if (signal === 'SIGHUP' && !io.terminalIsGone()) {
      app?.reload().catch((error: unknown) => logger.error({ err: error }, 'the reload failed'));
    } else if (asked === undefined) {
      asked = performance.now();
      stopNow(signal);
      // Still starting: it stops as soon as it has, unless it waits for something (a standby for its turn).
      setTimeout(() => app ?? io.exit(EXIT.ok), START_GRACE_MS).unref();
    } else if (performance.now() - asked > SAME_SIGNAL_MS) {
      io.exit(EXIT.environment);
    }
  });

  app = await startApp({
    settings,
    logger,
    inventoryShownAs: shownAs(io, settings.inventory),
    nodeBinary: io.nodeBinary,
    env: io.env,
    sendSignal: io.sendSignal,
    onFatal: (error: RailheadError) => {
      logger.fatal({ err: error }, error.message);
      io.exit(error.exitCode);
    },
  });
  print(
    io.stdout,
    formatBanner({
      ports: app.ports,
      advertise: app.advertise,
      readiness: app.readiness(),
      missing: await app.missing(),
      hostCount: app.inventory.index.inventory.hosts.length,
      warnings: app.inventory.warnings,
      inventoryDir: shownAs(io, settings.inventory),
      dataDir: shownAs(io, settings.data),
      newAdminToken: app.newAdminToken,
      showToken: io.stdout.isTTY,
    }),
  );

  const reason = await stopped;
  const deadline = setTimeout(() => {
    logger.error('stopping took too long; ending now');
    io.exit(EXIT.environment);
  }, STOP_DEADLINE_MS);
  await app
    .stop(reason)
    .catch((error: unknown) => logger.error({ err: error }, toRailheadError(error).message));
  clearTimeout(deadline);
  if (reason === 'SIGINT') {
    const lingered = performance.now() - (asked ?? 0);
    await new Promise((resolve) => setTimeout(resolve, CTRL_C_LINGER_MS - lingered));
  }
}
