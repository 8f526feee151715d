import { isIP } from 'node:net';
import Type, { type Static, type TSchema } from 'typebox';
import { checked } from './document/shape.ts';

/** How a setting is given besides the file. */
interface Extras {
  description: string;
  /** The flag's argument in help texts; a setting without it has no flag. */
  argument?: string;
  env?: string;
  /** A path: relative ones start at the folder of whoever said it. */
  path?: true;
  expected?: string;
  /** It may hold a password: what was given is not repeated in a message. */
  secret?: true;
}

const path = (fallback: string, description: string) =>
  Type.String({ default: fallback, minLength: 1, argument: 'DIR', path: true, description });
const port = (fallback: number, description: string) =>
  Type.Integer({
    default: fallback,
    minimum: 0,
    maximum: 65535,
    argument: 'PORT',
    expected: 'a port number from 0 to 65535 (0: any free port)',
    description,
  });
const count = (fallback: number, description: string) =>
  Type.Integer({
    default: fallback,
    minimum: 1,
    argument: 'N',
    expected: 'a whole number of 1 or more',
    description,
  });

const program = (name: string) =>
  Type.String({
    default: name,
    argument: 'PROGRAM',
    pattern: '^(/.+|[^/]+)$',
    expected: `the name of a program, or its path from the root such as /opt/bin/${name}`,
    description: `The program ${name}, which the steps of the post-install pipeline use`,
  });

const pattern = (fallback: string, description: string) =>
  checked(
    Type.String({
      default: fallback,
      argument: 'URL',
      expected: 'an http:// or https:// address',
      description,
    }),
    (text) => /^https?:\/\//.test(text) && URL.canParse(text.replaceAll(/\{\w+\}/g, 'x')),
  );
const proxy = (env: string, description: string) =>
  Type.Optional(
    Type.String({
      env,
      secret: true,
      pattern: '^(https?://\\S+|[^\\s:/@]+(:[0-9]+)?/?)$',
      expected: 'an address such as http://10.0.0.1:3128',
      description: `${description} (no flag: it may hold a password)`,
    }),
  );

/** Every setting there is, once: defaults, validation, flags, environment and help all come from here. */
export const SettingsSchema = Type.Object(
  {
    inventory: path('inventory', 'Folder with the inventory (*.yaml)'),
    data: path('data', 'Folder for the database, keys and what a running server says about itself'),
    boot: path('boot', 'Folder with the boot loaders that TFTP serves'),
    assets: path('assets', 'Folder with operating-system and sysext images'),
    templates: path('templates', 'Folder with the templates of menus and configurations'),
    postInstall: path('scripts/post-install', 'Folder with the steps of the post-install pipeline'),
    kubectl: program('kubectl'),
    helm: program('helm'),
    bind: checked(
      Type.String({
        default: '0.0.0.0',
        argument: 'ADDR',
        expected: 'an IP address such as 0.0.0.0 or ::',
        description: 'Address to listen on',
      }),
      (text) => isIP(text) !== 0,
    ),
    httpPort: port(8080, 'Port for HTTP: boot files, pages, API'),
    httpsPort: port(8443, 'Port for HTTPS: the same, and what carries secrets'),
    tftpPort: port(69, 'Port for TFTP (UDP)'),
    tftpPorts: Type.String({
      default: 'any',
      argument: 'PORTS',
      pattern: '^(any|single|[0-9]{1,5}-[0-9]{1,5})$',
      expected: '"any", "single" or a range such as 50000-50999',
      description: 'Ports that TFTP answers from: any, a range (firewalls), or single (NAT, containers)',
    }),
    tftpMaxTransfers: count(4000, 'TFTP downloads at once'),
    tftpMaxPerClient: count(600, 'TFTP downloads at once from one address'),
    maxBootFailures: count(3, 'Boot attempts in a row that get nowhere before a host is held'),
    tokenExpiryMinutes: count(
      60,
      'Minutes without progress after which the token of a boot is good for nothing',
    ),
    checkMac: Type.Boolean({
      default: true,
      argument: 'true|false',
      description:
        'Give secrets only to a card of the host, where this server is on the same link; false: where MACs are translated',
    }),
    refuseOtherAddress: Type.Boolean({
      default: false,
      argument: 'true|false',
      description:
        'Refuse a boot that goes on from another address than its kernel went to; false: only note it',
    }),
    newHosts: Type.Enum(['accept', 'ask'], {
      default: 'accept',
      argument: 'accept|ask',
      description:
        'A machine that registers first as a host without an identity: accept it, or ask an operator (railhead trust)',
    }),
    hostsWithoutMacs: Type.Enum(['wait', 'accept'], {
      default: 'wait',
      argument: 'wait|accept',
      description:
        'Hosts without macs on the same link, whose NIC is not checked: let them wait for secrets, or accept them',
    }),
    imageCacheMegabytes: count(512, 'Memory for images that many machines fetch at once, in MB'),
    assetsMinFreeMegabytes: count(1024, 'What must stay free on the disk of the images, in MB'),
    assetsParallel: count(3, 'Images that are fetched at once'),
    flatcarMirror: pattern(
      'https://{channel}.release.flatcar-linux.net/{board}/{version}',
      'Where Flatcar images are fetched from, with {channel}, {board} and {version}',
    ),
    updateMirror: pattern(
      'https://update.release.flatcar-linux.net/{board}/{version}',
      'Where Flatcar update payloads are fetched from, with {channel}, {board} and {version}',
    ),
    bakeryMirror: pattern(
      'https://extensions.flatcar.org/extensions/{name}',
      'Where Kubernetes and containerd sysexts are fetched from, with {name}',
    ),
    flatcarKeyUrl: pattern(
      'https://www.flatcar.org/security/image-signing-key/Flatcar_Image_Signing_Key.asc',
      'Where the key that Flatcar images are signed with is fetched from',
    ),
    flatcarKeyFile: Type.Optional(
      Type.String({
        minLength: 1,
        argument: 'FILE',
        path: true,
        description: 'Where that key is kept; default: keys/flatcar-images.asc in the data folder',
      }),
    ),
    flatcarKeyFingerprint: Type.String({
      default: 'F88CFEDEFF29A5B4D9523864E25D9AED0593B34A',
      argument: 'HEX',
      pattern: '^([0-9A-Fa-f]{40}|[0-9A-Fa-f]{64})$',
      expected: 'the fingerprint of a primary key, in hex',
      description: 'The one key that Flatcar images may be signed with, or by its subkeys',
    }),
    vaultKeyFile: Type.Optional(
      Type.String({
        minLength: 1,
        argument: 'FILE',
        path: true,
        description: 'File with the key (32 bytes, base64) that secrets in the database are sealed with',
      }),
    ),
    vaultKeyCommand: Type.Optional(
      Type.String({
        minLength: 1,
        argument: 'COMMAND',
        description: 'Shell command that prints that key, such as one that asks a KMS; wins over the file',
      }),
    ),
    httpProxy: proxy('HTTP_PROXY', 'Proxy for fetching from http:// addresses'),
    httpsProxy: proxy('HTTPS_PROXY', 'Proxy for fetching from https:// addresses'),
    noProxy: Type.Optional(
      Type.String({
        env: 'NO_PROXY',
        description: 'Hosts that are fetched from without a proxy, separated by commas',
      }),
    ),
    advertise: Type.Optional(
      checked(
        Type.String({
          argument: 'URL',
          expected: 'an address such as 10.0.0.5 or http://10.0.0.5:8080',
          description: 'How machines reach this server; found from the network interfaces when left out',
        }),
        canBeAdvertised,
      ),
    ),
    watch: Type.Boolean({
      default: true,
      argument: 'true|false',
      description: 'Take edits of the inventory at once; false: only at SIGHUP or `railhead reload`',
    }),
    logLevel: Type.Enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'], {
      default: 'info',
      argument: 'LEVEL',
      description: 'Least important messages to log: trace, debug, info, warn, error, silent',
    }),
    logFormat: Type.Enum(['auto', 'pretty', 'json'], {
      default: 'auto',
      argument: 'FORMAT',
      description: 'auto (pretty on a terminal, else json), pretty or json',
    }),
    eventsKeepCount: count(200_000, 'How many events are kept'),
    eventsKeepDays: count(90, 'How many days events are kept'),
    databaseUrl: Type.Optional(
      Type.String({
        env: 'DATABASE_URL',
        secret: true,
        pattern: '^postgres(ql)?://',
        expected: 'a URL such as postgres://user@host/railhead',
        description:
          'PostgreSQL in place of the SQLite file in the data folder (no flag: it may hold a password)',
      }),
    ),
  },
  { additionalProperties: false },
);

/** An IP address, or what becomes a URL of a host with an optional port and nothing more. */
function canBeAdvertised(text: string): boolean {
  if (isIP(text) !== 0) return !text.includes('%');
  const url = /^https?:\/\//.test(text) ? text : `http://${text}`;
  return /^https?:\/\/[^\s/?#@]+\/?$/.test(url) && URL.canParse(url);
}

export type Settings = Static<typeof SettingsSchema>;
export type SettingName = keyof Settings;
export const SETTING_NAMES = Object.keys(SettingsSchema.properties) as SettingName[];

type Declared = TSchema & Extras & { default?: unknown; type?: string; enum?: string[] };

export function declarationOf(name: SettingName): Declared {
  return SettingsSchema.properties[name] as unknown as Declared;
}

/** `httpPort` -> `--http-port` */
export function flagOf(name: SettingName): string {
  return `--${name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/** `httpPort` -> `RAILHEAD_HTTP_PORT` */
export function envOf(name: SettingName): string {
  const upper = name.replaceAll(/[A-Z]/g, (letter) => `_${letter}`).toUpperCase();
  return declarationOf(name).env ?? `RAILHEAD_${upper}`;
}
