import { join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import { RailheadError } from '../errors.ts';
import { resolveSettings } from '../resolve-settings.ts';
import { readIfThere } from '../secret-file.ts';
import { declarationOf, envOf, flagOf, SETTING_NAMES, type SettingName, type Settings } from '../settings.ts';
import type { CliIo } from './io.ts';

/** Adds flags for these settings, and for the settings file, to a command. */
export function withSettings(command: Command, names: readonly SettingName[] = SETTING_NAMES): Command {
  for (const name of names) {
    const { argument, description, default: fallback } = declarationOf(name);
    if (argument === undefined) continue;
    const shown = fallback === undefined ? '' : `; default: ${fallback}`;
    command.addOption(new Option(`${flagOf(name)} <${argument}>`, `${description} (${envOf(name)}${shown})`));
  }
  // A command may take its flags from several groups; the settings file is one for all.
  if (command.options.some((option) => option.long === '--config')) return command;
  return command.addOption(
    new Option('--config <FILE>', 'Settings file (RAILHEAD_CONFIG; default: railhead.yaml, if it is there)'),
  );
}

/** What `up --help` says below the flags. */
export function settingsHelp(): string {
  const withoutFlag = SETTING_NAMES.filter((name) => declarationOf(name).argument === undefined);
  return [
    '',
    'Settings without a flag:',
    ...withoutFlag.map((name) => `  ${envOf(name).padEnd(24)} ${declarationOf(name).description}`),
    '',
    'A flag wins over the environment, the environment over the settings file. In the file, names are',
    `written as in ${SETTING_NAMES.slice(0, 3).join(', ')}, httpPort …: one "name: value" a line.`,
  ].join('\n');
}

export async function settingsFor(io: CliIo, flags: Record<string, unknown>): Promise<Settings> {
  const given = (flags.config as string | undefined) ?? io.env.RAILHEAD_CONFIG;
  const path = given === undefined ? join(io.root, 'railhead.yaml') : resolve(io.cwd, given);
  const text = await readIfThere(path).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === 'EISDIR' ? 'it is a folder' : (error.code ?? error.message);
    throw new RailheadError('RH_SETTINGS_INVALID', `Can't read the settings file ${path}: ${reason}.`);
  });
  if (text === undefined && given !== undefined) {
    throw new RailheadError('RH_SETTINGS_INVALID', `The settings file ${path} is not there.`);
  }
  return resolveSettings({
    root: io.root,
    cwd: io.cwd,
    env: io.env,
    flags: flags as Partial<Record<SettingName, string>>,
    file: text === undefined ? undefined : { path, text },
  });
}
