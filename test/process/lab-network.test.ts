import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readlinkSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { NODE, ROOT } from '../support/appliance.ts';
import { whyNoNetwork } from '../support/lab-network.ts';
import { until } from '../support/poll.ts';
import { skipped } from '../support/skipped.ts';
import { tempFolder } from '../support/temp.ts';

const noNetwork = whyNoNetwork();
if (noNetwork !== undefined) skipped('what an interrupted VM test leaves', noNetwork);

/**
 * Holds a network as a lab does, and runs programs in it: one that changes its group, as dnsmasq does, one that has a
 * child, and one that ignores signals.
 */
const HOLDER = `
import { spawn } from 'node:child_process';
import { LabNetwork } from ${JSON.stringify(join(ROOT, 'test/support/lab-network.ts'))};
const [program, ...args] = (await LabNetwork.start(process.argv[1])).through;
const commands = [
  ['setpriv', '--regid=65534', '--clear-groups', 'sleep', '600'],
  ['sh', '-c', 'sleep 600; true'],
  ['sh', '-c', "trap '' HUP INT TERM; sleep 600; true"],
];
for (const command of commands) spawn(program, [...args, ...command], { stdio: 'ignore' });
const inside = spawn(program, [...args, 'readlink', '/proc/self/ns/net'], { stdio: ['ignore', 'pipe', 'inherit'] });
inside.stdout.on('data', (name) => process.stdout.write(name));
setInterval(() => {}, 1000);
`;

it.skipIf(noNetwork !== undefined).each(['SIGKILL', 'SIGTERM', 'SIGINT'] as const)(
  'leaves no process and no file behind when a lab is interrupted by %s',
  async (signal) => {
    const folder = join(await tempFolder(), 'lab');
    await mkdir(folder);
    // A process group of its own: Ctrl-C in a terminal reaches all processes of a group.
    const holder = spawn(NODE, ['--input-type=module', '-e', HOLDER, folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    onTestFinished(() => void holder.kill('SIGKILL'));
    const network = String((await once(holder.stdout, 'data'))[0]).trim();
    // The keeper with its `cat`, and five more.
    await until('all programs run', () => processesIn(network).length === 7);

    process.kill(signal === 'SIGKILL' ? holder.pid! : -holder.pid!, signal);
    await until('all of them have ended', () => processesIn(network).length === 0);
    expect(existsSync(folder)).toBe(false);
  },
);

/** Those that have ended have no namespace any more. */
function processesIn(network: string): string[] {
  return readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && readlinkSync(`/proc/${name}/ns/net`) === network;
    } catch {
      return false;
    }
  });
}
