import type { Missing } from '../doctor/missing.ts';
import { formatProblem, type Problem } from '../document/problem.ts';
import type { Advertised } from '../net/advertise.ts';
import { BOOT_FILES } from '../netboot/dhcp.ts';
import type { Readiness } from '../readiness.ts';
import { VERSION } from '../version.ts';

export interface BannerInput {
  ports: { http: number; https: number; tftp: number };
  advertise: Advertised;
  readiness: Readiness;
  missing: readonly Missing[];
  hostCount: number;
  warnings: readonly Problem[];
  inventoryDir: string;
  dataDir: string;
  newAdminToken: string | undefined;
  /** False where the output ends up in a log: a token has no place there. */
  showToken: boolean;
}

/** What a person sees after `npm start`: where to look, what to set, what is still missing. Pure. */
export function formatBanner(input: BannerInput): string {
  const { ports, advertise, readiness, missing, warnings, newAdminToken, inventoryDir } = input;
  const lines = [
    `Railhead ${VERSION} is running.`,
    '',
    `  Status page   ${advertise.url}/   (${advertise.reason})`,
    `  HTTPS         port ${ports.https}`,
    `  TFTP          UDP port ${ports.tftp}`,
    '',
    '  Set in your DHCP:',
    `    next-server    ${advertise.address}`,
    `    filename       ${BOOT_FILES.bios} (BIOS), ${BOOT_FILES.uefi} (UEFI)`,
    '    and send iPXE (option 175) to its script: `npx railhead dhcp dnsmasq|isc|kea` prints it whole',
    '',
    `  Inventory     ${inventoryDir}: ${inForce(input)}`,
  ];
  for (const warning of warnings) lines.push(`    ${formatProblem(warning)}`);
  for (const { message } of [...readiness.reasons, ...readiness.notes]) lines.push('', `  ! ${message}`);
  if (missing.length > 0) {
    lines.push('', '  Missing before a machine can boot:');
    for (const { what, get } of missing) lines.push(`    - ${what}`, `      ${get}`);
  }
  if (newAdminToken !== undefined) {
    const file = `${input.dataDir}/keys/admin-token`;
    lines.push(
      '',
      input.showToken
        ? `  Admin token (shown only now; kept in ${file}): ${newAdminToken}`
        : `  An admin token was made: ${file}`,
    );
  }
  lines.push('', '  Stop with Ctrl+C.', '');
  return lines.join('\n');
}

function inForce({ readiness, hostCount }: BannerInput): string {
  if (readiness.revision === null) return 'no revision in force';
  return `revision ${readiness.revision} in force, ${hostCount} hosts`;
}
