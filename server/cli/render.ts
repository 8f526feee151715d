import { type Command, Option } from 'commander';
import { previewKubeadm } from '../cluster/preview.ts';
import { diffLines, formatDiff } from '../document/line-diff.ts';
import { formatProblem, isError } from '../document/problem.ts';
import { RailheadError } from '../errors.ts';
import { fileOf } from '../feed/image-name.ts';
import { noopDefinition } from '../feed/transfer-definition.ts';
import { fileIn } from '../ignition/config-file.ts';
import { sysextsOfHost } from '../ignition/host-sysexts.ts';
import { ConfigRenderer } from '../ignition/renderer.ts';
import { markerOf } from '../ignition/secrets.ts';
import { toBuffer } from '../ignition/sheet.ts';
import { InventoryIndex } from '../inventory/index.ts';
import { loadInventoryFolder } from '../inventory/load.ts';
import type { HostSpec, Inventory } from '../inventory/model.ts';
import { findHost } from '../machine/describe-host.ts';
import { MENU_KINDS } from '../netboot/menus.ts';
import { TemplateFolders, templateFolders } from '../templating/template-folders.ts';
import { type Client, connect, withServer } from './client.ts';
import { shownAs } from './inventory-folder.ts';
import { type CliIo, print, printJson } from './io.ts';
import { settingsFor, withSettings } from './settings.ts';

const WHAT = ['ignition', 'butane', 'menu', 'kubeadm'] as const;
type What = (typeof WHAT)[number];

interface RenderFlags extends Record<string, unknown> {
  what: What;
  purpose?: 'system' | 'installer';
  kind: string;
  file?: string;
  diff?: string;
  reveal?: true;
  json?: true;
}

export function registerRender(program: Command, io: CliIo): void {
  withServer(withSettings(program.command('render'), ['inventory', 'templates', 'advertise']))
    .description(
      'Print what a host would get: its configuration, the Butane it is made of, its boot menu, or its part in kubeadm',
    )
    .argument('<HOST>', 'Its name, MAC address, UUID or serial number')
    .addOption(new Option('--what <WHAT>', 'What to print').choices([...WHAT]).default('ignition'))
    .addOption(
      new Option('--purpose <PURPOSE>', 'The system, or the one that installs it').choices([
        'system',
        'installer',
      ]),
    )
    .addOption(new Option('--kind <LOADER>', 'Whose menu').choices([...MENU_KINDS]).default('ipxe'))
    .option('--file <PATH>', 'Print what one file of the configuration would have in it')
    .option('--diff <REVISION>', 'Show what has changed since this revision of the inventory')
    .option('--reveal', 'With all secrets; needs the admin token, and is written down')
    .option('--json', 'Print JSON')
    .addHelpText(
      'after',
      `
Asks the running server; with --inventory DIR, reads that folder instead and needs no server.
Secrets are shown as markers.

Examples:
  npx railhead render n1
  npx railhead render n1 --file /etc/hostname
  npx railhead render n1 --what menu --kind pxelinux
  npx railhead render n1 --what kubeadm
  npx railhead render n1 --diff 17339a5c2c99f7f9`,
    )
    .action(async (host: string, flags: RenderFlags) => {
      const text =
        flags.inventory === undefined ? await online(io, host, flags) : await offline(io, host, flags);
      if (flags.json) return printJson(io.stdout, { name: host, what: flags.what, text });
      io.stdout.write(text);
    });
}

async function online(io: CliIo, host: string, flags: RenderFlags): Promise<string> {
  const client = await connect(io, flags);
  const name = encodeURIComponent(host);
  if (flags.what === 'menu') return client.text(`/api/v1/hosts/${name}/menu?kind=${flags.kind}`);
  if (flags.what === 'kubeadm') return client.text(`/api/v1/hosts/${name}/kubeadm`);
  const now = await previewText(client, name, flags);
  if (flags.diff === undefined) return now;
  const before = await previewText(client, name, flags, flags.diff);
  const lines = formatDiff(diffLines(before, now));
  return lines.length === 0 ? 'No change.\n' : `${lines.join('\n')}\n`;
}

function previewText(client: Client, host: string, flags: RenderFlags, revision?: string): Promise<string> {
  const { what, purpose, file, reveal } = flags;
  const given = { format: what, purpose, file, revision, ...(reveal ? { reveal: 'yes' } : {}) };
  const query = new URLSearchParams(
    Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
  return client.text(`/ignition/${host}?${query}`, { asAdmin: reveal === true });
}

/** In place of what only a feed knows. */
const NO_HASH = '0'.repeat(64);

/** From files alone: what only a running server knows, such as its certificate, is a marker. */
async function offline(io: CliIo, wanted: string, flags: RenderFlags): Promise<string> {
  if (flags.what === 'menu' || flags.diff !== undefined || flags.reveal) {
    throw new RailheadError(
      'RH_USAGE',
      'The menu, --diff and --reveal need the running server: leave out --inventory.',
    );
  }
  const settings = await settingsFor(io, flags);
  const { inventory, problems } = await loadInventoryFolder(
    settings.inventory,
    shownAs(io, settings.inventory),
  );
  if (inventory === undefined) {
    throw new RailheadError('RH_INVENTORY_INVALID', problems.filter(isError).map(formatProblem).join('\n'));
  }
  const index = new InventoryIndex(inventory);
  const host = findHost(index, wanted);
  if (flags.what === 'kubeadm') return kubeadmText(host, inventory, settings.templates);
  const url = settings.advertise ?? 'http://railhead.invalid:8080';
  const renderer = new ConfigRenderer({
    inventory: () => ({ index, revision: undefined }),
    templates: new TemplateFolders({ now: Date.now, folders: templateFolders(settings.templates) }),
    server: () => ({
      url,
      httpsUrl: url.replace(/^http:/, 'https:'),
      ca: markerOf('certificate of the server'),
    }),
    readSecret: () => '',
    // As if the feed had all of them.
    sysextsOf: (of) =>
      sysextsOfHost(of, { baseUrl: url, find: async (id) => ({ file: fileOf(id), sha256: NO_HASH }) }),
    feed: async () => ({ keyring: Buffer.alloc(0), noop: noopDefinition() }),
  });
  const preview = await renderer.preview(
    host,
    flags.purpose ?? (host.os.install === 'disk' ? 'installer' : 'system'),
    { format: flags.what === 'butane' && flags.file === undefined ? 'butane' : 'ignition' },
  );
  if ('problems' in preview) {
    print(io.stderr, ...preview.problems.map(formatProblem));
    throw new RailheadError('RH_CONFIG_UNAVAILABLE', `The configuration of ${host.name} can't be made.`);
  }
  if (flags.file !== undefined) {
    const content = fileIn(JSON.parse(toBuffer(preview).toString()), flags.file);
    if (content !== undefined) return content.toString();
    throw new RailheadError('RH_NOT_FOUND', `The configuration of ${host.name} has no file ${flags.file}.`);
  }
  return toBuffer(preview).toString();
}

function kubeadmText(host: HostSpec, { clusters, hosts }: Inventory, templates: string): string {
  return previewKubeadm({
    host,
    cluster: clusters.find(({ name }) => name === host.cluster),
    hosts,
    claim: undefined,
    certificate: undefined,
    templates: new TemplateFolders({ now: Date.now, folders: templateFolders(templates) }).current().set,
  });
}
