import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { RailheadError, systemCode } from '../errors.ts';
import type { SecretReader } from './secrets.ts';

/** Finds secrets where the inventory says: in a file beside it, or in the environment. What is wrong names neither. */
export function secretReader(
  inventoryDir: string,
  env: Readonly<Record<string, string | undefined>>,
): SecretReader {
  return (reference) => {
    if ('fromEnv' in reference) {
      const value = env[reference.fromEnv];
      if (value !== undefined) return value;
      throw new RailheadError('RH_SECRET_MISSING', `The environment has no variable ${reference.fromEnv}.`, {
        hint: 'Set it where Railhead is started, such as in its systemd unit (EnvironmentFile=).',
      });
    }
    try {
      return readFileSync(resolve(inventoryDir, reference.fromFile), 'utf8').replace(/\r?\n$/, '');
    } catch (error) {
      throw new RailheadError(
        'RH_SECRET_MISSING',
        `The secret in ${reference.fromFile} can't be read (${systemCode(error)}).`,
        {
          hint: 'Its path is relative to the inventory folder; only Railhead needs to read it.',
          cause: error,
        },
      );
    }
  };
}
