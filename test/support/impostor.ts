import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { ensureParts } from '../../scripts/lib/parts.mjs';
import type { Lab } from './lab.ts';

const SERVER = 'https://10.55.0.1:8443';
/** Beyond those that DHCP gives. */
export const IMPOSTOR = '10.55.0.240';

export interface Answer {
  status: number;
  body: string;
}

/** Asks the server, with a token; a POST when there is something to say. */
export type Ask = (path: string, token: string, body?: object) => Promise<Answer>;

/**
 * Plugs somebody in whose card says that it is this one, for as long as the work takes. It must not stay longer: a
 * switch sends what is meant for a card to where it has last heard of it.
 */
export async function asImpostor<T>(lab: Lab, mac: string, work: (ask: Ask) => Promise<T>): Promise<T> {
  const [program = '', ...args] = [...lab.through, 'unshare', '-n', 'sh', '-c', 'echo ready; exec cat'];
  const place = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const ended = once(place, 'exit');
  const port = `port${place.pid}`;
  const inside = ['nsenter', '-t', String(place.pid), '-n'];
  try {
    await once(place.stdout, 'data');
    await run(
      lab.through,
      `ip link add ${port} type veth peer name card address ${mac} netns ${place.pid}
       ip link set ${port} master br0 up`,
    );
    await run(inside, `ip addr add ${IMPOSTOR}/24 dev card; ip link set card up`);
    return await work((...question) => ask(inside, ...question));
  } finally {
    // The switch forgets it at once; with its namespace it would go some time later.
    await run(lab.through, `ip link del ${port} || true`);
    place.stdin.end();
    await ended;
  }
}

async function ask(inside: readonly string[], ...[path, token, body]: Parameters<Ask>): Promise<Answer> {
  const { curl } = await ensureParts(['curl']);
  const said =
    body === undefined ? '' : `--header 'Content-Type: application/json' --data '${JSON.stringify(body)}'`;
  // Who takes what is not theirs does not ask for certificates.
  const answer = await run(
    ['env', ...Object.entries(curl!.env).map(([name, value]) => `${name}=${value}`), ...inside],
    `'${curl!.path}' --silent --show-error --insecure --max-time 20 --write-out '\\n%{http_code}' \\
      --header 'Authorization: Bearer ${token}' ${said} '${SERVER}${path}'`,
  );
  const end = answer.lastIndexOf('\n');
  return { status: Number(answer.slice(end + 1)), body: answer.slice(0, end) };
}

/** What a shell there says to this; fails when it does. */
async function run(through: readonly string[], script: string): Promise<string> {
  const [program = '', ...args] = [...through, 'sh', '-ec', script];
  return (await promisify(execFile)(program, args)).stdout;
}
