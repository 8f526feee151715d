import { existsSync } from 'node:fs';
import { statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { DataFolder } from '../data-folder.ts';
import { formatProblem, isError } from '../document/problem.ts';
import { RailheadError, toRailheadError } from '../errors.ts';
import { loadInventoryFolder } from '../inventory/load.ts';
import type { Inventory } from '../inventory/model.ts';
import { type Advertised, chooseAdvertised } from '../net/advertise.ts';
import { defaultInterface, localAddresses } from '../net/interfaces.ts';
import type { Settings } from '../settings.ts';
import { openExistingStore } from '../store/store.ts';
import { bindTftpPort } from '../tftp/port.ts';
import type { Finding } from './finding.ts';
import { getLoaders, loadersFor } from './loaders.ts';
import { missingImages, missingLoaders } from './missing.ts';
import { examinePostInstall } from './post-install.ts';

export interface DoctorInput {
  settings: Settings;
  inventoryShownAs: string;
  nodeVersion: string;
  nodeBinary: string;
  /** Of this process. */
  env: Readonly<Record<string, string | undefined>>;
  /** The server that runs on the data folder, if one answers, and how it says that machines reach it. */
  running: { url: string; advertise: Advertised } | undefined;
  /** What the API servers of clusters are, as far as that server has seen them; by the cluster's name. */
  clusterVersions: ReadonlyMap<string, string>;
}

/** Looks at everything that has to be right before a machine can boot; changes nothing. */
export async function examine(input: DoctorInput): Promise<Finding[]> {
  const { settings, running } = input;
  const { inventory, findings: inventoryFindings } = await examineInventory(input);
  return [
    node(input),
    ...(await dataFolder(settings)),
    await database(settings),
    ...(running === undefined ? await ports(input) : [ok('server', `running at ${running.url}`)]),
    ...inventoryFindings,
    ...network(running?.advertise ?? chosenLater(settings, inventory)),
    ...(await missing(settings, inventory)),
    ...(inventory === undefined ? [] : await examinePostInstall(settings, inventory, input)),
  ];
}

const ok = (name: string, message: string): Finding => ({ name, status: 'ok', message });
const warn = (name: string, message: string, fix?: string): Finding => finding('warn', name, message, fix);
const fail = (name: string, message: string, fix?: string): Finding => finding('fail', name, message, fix);
const finding = (status: Finding['status'], name: string, message: string, fix?: string): Finding =>
  fix === undefined ? { name, status, message } : { name, status, message, fix };

function failure(name: string, error: unknown): Finding {
  const { message, hint } = toRailheadError(error);
  return fail(
    name,
    error instanceof RailheadError ? message : `${message} ${(error as Error).message}`,
    hint,
  );
}

function node({ nodeVersion }: DoctorInput): Finding {
  const major = Number(nodeVersion.split('.')[0]);
  if (major >= 24) return ok('node', `Node ${nodeVersion}`);
  return fail(
    'node',
    `Node ${nodeVersion} is too old: 24 or later is needed.`,
    'Run it by `npx railhead`, which brings its own.',
  );
}

const LOW_SPACE_GB = 5;

async function dataFolder(settings: Settings): Promise<Finding[]> {
  if (!existsSync(settings.data)) return [ok('data folder', `${settings.data}: the first start makes it`)];
  try {
    await new DataFolder(settings.data).assertWritable();
    const { bavail, bsize } = await statfs(settings.data);
    const freeGb = (bavail * bsize) / 1e9;
    const space = `${freeGb.toFixed(1)} GB free`;
    if (freeGb >= LOW_SPACE_GB) return [ok('data folder', `${settings.data} is writable, ${space}`)];
    return [
      warn(
        'data folder',
        `${settings.data} has only ${space}; OS images need several.`,
        'Make room, or use --data DIR.',
      ),
    ];
  } catch (error) {
    return [failure('data folder', error)];
  }
}

async function database({ data, databaseUrl }: Settings): Promise<Finding> {
  try {
    const store = await openExistingStore({ dataDir: data, databaseUrl });
    const { shownAs } = store;
    await store.close();
    return ok('database', `${shownAs} is sound`);
  } catch (error) {
    if (error instanceof RailheadError && error.code === 'RH_DATA_UNUSABLE') {
      return ok('database', 'none yet: the first start makes it');
    }
    return failure('database', error);
  }
}

async function ports({ settings, nodeBinary }: DoctorInput): Promise<Finding[]> {
  const { bind, httpPort, httpsPort, tftpPort } = settings;
  return [
    await tcpPort('http port', bind, httpPort),
    await tcpPort('https port', bind, httpsPort),
    await bindTftpPort(bind, tftpPort, nodeBinary).then(
      ({ socket, note }) => {
        socket.close();
        return note === undefined ? ok('tftp port', `UDP ${tftpPort} is free`) : warn('tftp port', note);
      },
      (error: unknown) => failure('tftp port', error),
    ),
  ];
}

function tcpPort(name: string, host: string, port: number): Promise<Finding> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) =>
      resolve(
        fail(
          name,
          `TCP ${port} can't be had: ${error.code}`,
          `Stop what uses it (\`ss -ltnp\`), or choose another.`,
        ),
      ),
    );
    server.listen({ host, port }, () => server.close(() => resolve(ok(name, `TCP ${port} is free`))));
  });
}

async function examineInventory({
  settings,
  inventoryShownAs,
}: DoctorInput): Promise<{ inventory?: Inventory; findings: Finding[] }> {
  try {
    const { inventory, problems } = await loadInventoryFolder(settings.inventory, inventoryShownAs);
    const findings = problems.map((problem) =>
      (isError(problem) ? fail : warn)('inventory', formatProblem(problem)),
    );
    if (inventory === undefined) return { findings };
    return {
      inventory,
      findings: [...findings, ok('inventory', `${inventoryShownAs}: ${inventory.hosts.length} hosts`)],
    };
  } catch (error) {
    return { findings: [failure('inventory', error)] };
  }
}

/** What a server would choose if it was started now. */
function chosenLater({ advertise, httpPort, bind }: Settings, inventory: Inventory | undefined): Advertised {
  return chooseAdvertised({
    wanted: advertise,
    httpPort,
    bind,
    local: localAddresses(),
    hosts: inventory?.hosts.flatMap(({ ip }) => (ip === undefined ? [] : [ip])) ?? [],
    defaultInterface: defaultInterface(),
  });
}

function network({ url, reason, warnings }: Advertised): Finding[] {
  return [
    ok('network', `machines are told to come to ${url} (${reason})`),
    ...warnings.map((message) => warn('network', message)),
  ];
}

async function missing({ boot, assets }: Settings, inventory: Inventory | undefined): Promise<Finding[]> {
  if (inventory === undefined) return [];
  const images = await missingImages(inventory, assets);
  return [
    ...images.map(({ what, get }) => warn('missing', what, get)),
    ...(await bootLoaders(boot, inventory)),
  ];
}

async function bootLoaders(bootDir: string, inventory: Inventory): Promise<Finding[]> {
  const needed = loadersFor(inventory);
  const lacking = await missingLoaders(inventory, bootDir);
  if (lacking.length > 0) {
    return lacking.map(({ file, why, arch, profiles }) =>
      fail(
        'boot loader',
        `${file} is not in ${bootDir}: ${arch} machines of ${profiles.join(', ')} can't start (${why})`,
        getLoaders(bootDir),
      ),
    );
  }
  if (needed.length === 0) return [];
  return [ok('boot loader', `${needed.map(({ file }) => file).join(', ')}: all in ${bootDir}`)];
}
