// `npm run bootloaders`: fills boot/ with the boot loaders that TFTP serves. Nothing is installed, and it does not
// have to be root. docs/bootloaders.md
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fillBootFolder } from './lib/bootloaders/fill.mjs';
import { formatKept, formatMissing, formatTable, lacksNeeded } from './lib/bootloaders/report.mjs';
import { bootFolder } from './lib/ensure-bootloaders.mjs';
import { errorText, say } from './lib/files.mjs';

const HELP = `npm run bootloaders [-- --boot DIR] [--update]

Fills boot/ with boot loaders, from Debian packages or from what is installed on this system.

  --boot DIR   another folder (RAILHEAD_BOOT)
  --update     look for newer versions; without it, what is there stays as it is
  --config F   settings file that may name the folder (RAILHEAD_CONFIG)

RAILHEAD_NO_APT=1 fetches nothing. RAILHEAD_CACHE=DIR keeps what was fetched in DIR.
Exit code 1 when one is missing that the defaults need.`;

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const args = process.argv.slice(2);
const unknown = unknownArguments(args);

if (args.includes('--help') || args.includes('-h')) {
  console.log(HELP);
} else if (unknown.length > 0) {
  console.error(`No such argument: ${unknown.join(' ')}\n\n${HELP}`);
  process.exitCode = 2;
} else {
  process.exitCode = await main().catch((error) => {
    say(errorText(error));
    return 1;
  });
}

async function main() {
  const bootDir = bootFolder({ root, args });
  const rows = await fillBootFolder({
    bootDir,
    log: say,
    update: args.includes('--update'),
    apt: process.env.RAILHEAD_NO_APT !== '1',
  });
  const written = rows.filter((row) => row.written).length;
  for (const line of formatTable(rows)) console.log(line);
  say(`${bootDir}: ${written === 0 ? 'nothing was changed' : `${written} files written`}`);
  for (const line of [...formatKept(rows, bootDir), ...formatMissing(rows, bootDir)]) say(line);
  return lacksNeeded(rows) ? 1 : 0;
}

/** @param {string[]} given */
function unknownArguments(given) {
  return given.filter((arg, index) => {
    if (/^(--update|--help|-h|--(boot|config)=.+)$/.test(arg)) return false;
    if (/^--(boot|config)$/.test(arg)) return given[index + 1] === undefined;
    return !/^--(boot|config)$/.test(given[index - 1] ?? '');
  });
}
