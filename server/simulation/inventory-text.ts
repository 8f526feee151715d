import type { Install, SimulatedHost } from './hosts.ts';

/** What the simulated hosts are given: a version that no real image has. */
export const SIMULATED_VERSION = '0.0.0';

/** The first line of the file; one that starts otherwise is somebody else's. */
const MARK = '# Simulated machines, written by `railhead simulate`.';

const header = (install: Install): string => `${MARK}
#
# They are not real: nothing here has to do with your machines. Take them away again, together with their stand-in
# image, with \`npx railhead simulate --remove\`. Edits are lost with the next simulation.

profiles:
  - name: simulated
    os: flatcar
    channel: stable
    version: ${SIMULATED_VERSION}
    arch: amd64
    install: ${install}

# Without a cluster: nothing is ever planned for them, and no cluster counts on them.
pools:
  - name: simulated
    profile: simulated

hosts:
`;

/** The inventory file of a simulation. */
export function simulatedInventory(hosts: readonly SimulatedHost[], install: Install): string {
  return header(install) + hosts.map((host) => hostText(host, install)).join('');
}

/** Whether this text was written by a simulation. */
export function isSimulatedInventory(text: string): boolean {
  return text.startsWith(`${MARK}\n`);
}

function hostText({ name, mac, uuid, knownByUuid }: SimulatedHost, install: Install): string {
  const lines = [`  - name: ${name}`, '    pool: simulated', `    macs: ['${mac}']`];
  if (knownByUuid) lines.push(`    uuid: ${uuid}`);
  if (install === 'disk') lines.push('    disk: {minSizeGB: 1}');
  return `${lines.join('\n')}\n`;
}
