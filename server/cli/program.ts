import { Command, CommanderError } from 'commander';
import { EXIT, RailheadError, toRailheadError } from '../errors.ts';
import { VERSION } from '../version.ts';
import { registerAssets } from './assets.ts';
import { registerBackup } from './backup.ts';
import { registerCheck } from './check.ts';
import { registerCluster } from './cluster.ts';
import { registerDhcp } from './dhcp.ts';
import { registerDiff } from './diff.ts';
import { registerDoctor } from './doctor.ts';
import { registerEvents } from './events.ts';
import { registerHost, registerHosts } from './hosts.ts';
import { type CliIo, print } from './io.ts';
import { registerKubeconfig } from './kubeconfig.ts';
import { registerMachines } from './machines.ts';
import { registerOrders } from './orders.ts';
import { registerPipeline } from './pipeline.ts';
import { registerReload } from './reload.ts';
import { registerRender } from './render.ts';
import { registerRestore } from './restore.ts';
import { registerSchema } from './schema.ts';
import { registerSimulate } from './simulate.ts';
import { registerSysext } from './sysext.ts';
import { registerTransfers } from './transfers.ts';
import { registerTrust } from './trust.ts';
import { registerUp } from './up.ts';
import { registerVersion } from './version.ts';

const EXIT_CODES = `
Exit codes:
  0   all is well
  1   what was looked at is not right (check, doctor, an unknown host …)
  2   the command line or a setting is wrong
  3   no server answers, or it refused
  4   the machine stands in the way: rights, disk, ports, a damaged database
  70  a bug in Railhead`;

const REGISTER = [
  registerUp,
  registerCheck,
  registerDiff,
  registerSchema,
  registerHosts,
  registerHost,
  registerRender,
  registerEvents,
  registerTransfers,
  registerSysext,
  registerOrders,
  registerTrust,
  registerMachines,
  registerAssets,
  registerPipeline,
  registerCluster,
  registerKubeconfig,
  registerDhcp,
  registerSimulate,
  registerReload,
  registerDoctor,
  registerBackup,
  registerRestore,
  registerVersion,
];

/** Runs one command. Every failure ends here as one message and an exit code. */
export async function runCli(io: CliIo): Promise<number> {
  const program = new Command('railhead')
    .description(
      'Bare-metal provisioning: network boot to a Kubernetes cluster, and in-place upgrades after.',
    )
    .version(VERSION)
    .addHelpText('after', EXIT_CODES)
    .helpCommand(true)
    // A command may have a --version of its own.
    .enablePositionalOptions()
    .showSuggestionAfterError()
    .showHelpAfterError('`railhead --help` lists the commands, `railhead COMMAND --help` what they take.')
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.stdout.write(text),
      writeErr: (text) => io.stderr.write(text),
    });
  let exitCode: number = EXIT.ok;
  const withExitCode: CliIo = {
    ...io,
    setExitCode: (code) => {
      exitCode = code;
    },
  };
  for (const register of REGISTER) register(program, withExitCode);
  try {
    await program.parseAsync([...io.args], { from: 'user' });
    return exitCode;
  } catch (error) {
    // Commander has printed its own message already.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
    return report(error, io);
  }
}

function report(thrown: unknown, io: CliIo): number {
  const error = toRailheadError(thrown);
  print(io.stderr, `${error.code}: ${error.message}`);
  if (error.hint !== undefined) print(io.stderr, error.hint);
  // A stack trace helps only with what nobody foresaw.
  if (error.code === 'RH_INTERNAL' && !(thrown instanceof RailheadError)) {
    print(io.stderr, String((thrown as Error)?.stack ?? thrown));
  }
  return error.exitCode;
}
