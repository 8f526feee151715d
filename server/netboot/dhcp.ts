import type { Inventory } from '../inventory/model.ts';

export const DHCP_SERVERS = ['dnsmasq', 'isc', 'kea'] as const;
export type DhcpServer = (typeof DHCP_SERVERS)[number];

export interface DhcpInput {
  /** The appliance's address. */
  nextServer: string;
  /** `http://10.0.0.5:8080` */
  baseUrl: string;
  inventory: Inventory;
}

/** The file that DHCP hands to each kind of firmware: what people are told, wherever they are told it. */
export const BOOT_FILES = {
  bios: 'undionly.kpxe',
  uefi: 'snponly.efi',
  uefiArm64: 'snponly-arm64.efi',
} as const;

/** By the architecture that firmware tells in option 93. */
const FILES = [
  { archs: [0], file: BOOT_FILES.bios, what: 'BIOS' },
  { archs: [7, 9], file: BOOT_FILES.uefi, what: 'UEFI, x86-64' },
  { archs: [11], file: BOOT_FILES.uefiArm64, what: 'UEFI, arm64' },
] as const;

/** UEFI HTTP Boot asks with its own architectures and wants a URL. */
const HTTP_BOOT = [
  { archs: [16], file: BOOT_FILES.uefi, what: 'UEFI HTTP Boot, x86-64' },
  { archs: [19], file: BOOT_FILES.uefiArm64, what: 'UEFI HTTP Boot, arm64' },
] as const;

/** A snippet that makes a DHCP server send machines here. Pure. */
export function dhcpSnippet(server: DhcpServer, input: DhcpInput): string {
  const writers = { dnsmasq, isc, kea };
  return `${writers[server](input).join('\n')}\n`;
}

const hosts = ({ inventory }: DhcpInput) =>
  inventory.hosts.flatMap(({ name, ip, macs }) => (ip === undefined ? [] : [{ name, ip, macs }]));

function dnsmasq(input: DhcpInput): string[] {
  const { nextServer, baseUrl } = input;
  return [
    '# Machines that run iPXE already (option 175) get the script, not iPXE once more.',
    'dhcp-match=set:ipxe,175',
    `dhcp-boot=tag:ipxe,${baseUrl}/boot.ipxe`,
    ...FILES.flatMap(({ archs, file, what }) => [
      `# ${what}`,
      ...archs.map((arch) => `dhcp-match=set:arch${archs[0]},option:client-arch,${arch}`),
      `dhcp-boot=tag:!ipxe,tag:arch${archs[0]},${file},,${nextServer}`,
    ]),
    ...HTTP_BOOT.flatMap(({ archs, file, what }) => [
      `# ${what}`,
      ...archs.map((arch) => `dhcp-match=set:http${archs[0]},option:client-arch,${arch}`),
      `dhcp-option-force=tag:http${archs[0]},60,HTTPClient`,
      `dhcp-boot=tag:!ipxe,tag:http${archs[0]},${baseUrl}/loaders/${file}`,
    ]),
    ...hosts(input).map(({ name, ip, macs }) => `dhcp-host=${macs.join(',')},${ip},${name}`),
  ];
}

function isc(input: DhcpInput): string[] {
  const { nextServer, baseUrl } = input;
  const condition = (archs: readonly number[]): string =>
    archs.map((arch) => `option arch = ${hex16(arch)}`).join(' or ');
  return [
    'option arch code 93 = unsigned integer 16;',
    `next-server ${nextServer};`,
    'if exists user-class and option user-class = "iPXE" {',
    `  filename "${baseUrl}/boot.ipxe";`,
    ...FILES.flatMap(({ archs, file }) => [`} elsif ${condition(archs)} {`, `  filename "${file}";`]),
    ...HTTP_BOOT.flatMap(({ archs, file }) => [
      `} elsif ${condition(archs)} {`,
      '  option vendor-class-identifier "HTTPClient";',
      `  filename "${baseUrl}/loaders/${file}";`,
    ]),
    '}',
    ...hosts(input).flatMap(({ name, ip, macs }) =>
      macs.map((mac, index) => {
        const label = macs.length === 1 ? name : `${name}-${index + 1}`;
        return `host ${label} { hardware ethernet ${mac}; fixed-address ${ip}; option host-name "${name}"; }`;
      }),
    ),
  ];
}

function kea(input: DhcpInput): string[] {
  const { nextServer, baseUrl } = input;
  const test = (archs: readonly number[]): string =>
    archs.map((arch) => `option[93].hex == ${hex16(arch)}`).join(' or ');
  const classes = [
    { name: 'railhead-ipxe', test: 'option[175].exists', 'boot-file-name': `${baseUrl}/boot.ipxe` },
    ...FILES.map(({ archs, file }) => ({
      name: `railhead-arch-${archs[0]}`,
      test: `not member('railhead-ipxe') and (${test(archs)})`,
      'next-server': nextServer,
      'boot-file-name': file,
    })),
    ...HTTP_BOOT.map(({ archs, file }) => ({
      name: `railhead-http-${archs[0]}`,
      test: `not member('railhead-ipxe') and (${test(archs)})`,
      'option-data': [{ name: 'vendor-class-identifier', data: 'HTTPClient' }],
      'boot-file-name': `${baseUrl}/loaders/${file}`,
    })),
  ];
  const reservations = hosts(input).flatMap(({ name, ip, macs }) =>
    macs.map((mac) => ({ 'hw-address': mac, 'ip-address': ip, hostname: name })),
  );
  return [JSON.stringify({ Dhcp4: { 'client-classes': classes, reservations } }, null, 2)];
}

function hex16(value: number): string {
  return `0x${value.toString(16).padStart(4, '0')}`;
}
