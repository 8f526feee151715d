import Type, { type Static } from 'typebox';
import { quote } from '../document/problem.ts';
import { checked } from '../document/shape.ts';
import { normaliseIp, parseCidr } from '../net/cidr.ts';
import { macFault, normaliseMac } from './mac.ts';
import { normaliseUuid } from './uuid.ts';

/** What the schemas of the inventory are made of: names, versions, addresses, and what every layer may have. */

export const closed = { additionalProperties: false } as const;

export const NAME = '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$';
export const Name = Type.String({
  pattern: NAME,
  expected: 'a name of lower-case letters, digits and "-", at most 63 characters, such as "rack1-n3"',
});
export const nameOf = (what: string) => Type.String({ pattern: NAME, expected: `the name of a ${what}` });
export const HostName = Type.String({
  pattern: '^(?=.{1,253}$)[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$',
  expected: 'a host name of lower-case letters, digits, "-" and ".", such as "rack1-n3"',
  description: 'The host name; it is also the name of the Kubernetes node.',
});
export const Version = Type.String({
  pattern: '^v?[0-9]+\\.[0-9]+\\.[0-9]+$',
  expected: 'a full version such as 1.36.4',
});

/** A secret is never written in the inventory, only where it is found. */
export const SecretRef = Type.Union(
  [
    Type.Object(
      { fromFile: Type.String({ minLength: 1, description: 'Path; relative to this file.' }) },
      closed,
    ),
    Type.Object({ fromEnv: Type.String({ pattern: '^[A-Za-z_][A-Za-z0-9_]*$' }) }, closed),
  ],
  { secret: true, expected: 'a reference to a secret: {fromFile: PATH} or {fromEnv: NAME}' },
);

const Variables = Type.Record(Type.String(), Type.Unknown(), {
  expected: 'a mapping of names to values',
  description: 'Values for templates. Later wins: cluster < profile < pool < host.',
});
const KernelArguments = Type.Array(
  Type.String({ pattern: '^[\\x21-\\x7e]+$', expected: 'one kernel argument without spaces' }),
  { description: 'Added to the kernel command line. In order: cluster, profile, pool, host.' },
);
const Snippets = Type.Array(Type.String({ minLength: 1, expected: 'the name of a template file' }), {
  description: 'Butane snippets merged on top. In order: cluster, profile, pool, host.',
});
const SshKeys = Type.Array(
  Type.String({
    pattern:
      '^(ssh-(ed25519|rsa|dss)|ecdsa-sha2-nistp(256|384|521)|sk-[a-z0-9@.-]+) [A-Za-z0-9+/]+={0,3}( [^\\x00-\\x1f]*)?$',
    expected: 'a public key as in ~/.ssh/id_ed25519.pub, such as "ssh-ed25519 AAAAC3… you@desk"',
  }),
  { description: 'Who may log in as "core". All of them: cluster, profile, pool, host.' },
);
export const layered = {
  sshKeys: Type.Optional(SshKeys),
  variables: Type.Optional(Variables),
  kernelArguments: Type.Optional(KernelArguments),
  snippets: Type.Optional(Snippets),
};

const Cidr = checked(
  Type.String({ expected: 'a network such as 10.244.0.0/16' }),
  (text) => 'cidr' in parseCidr(text),
  (text) => {
    const parsed = parseCidr(text);
    return 'fault' in parsed ? `${parsed.fault}, got ${quote(text)}` : '';
  },
);
const familyOf = (cidr: string): 4 | 6 => (cidr.includes(':') ? 6 : 4);
export const Cidrs = Type.Union(
  [
    Cidr,
    checked(
      Type.Array(Cidr, { minItems: 1, maxItems: 2, expected: 'a list of one IPv4 and one IPv6 network' }),
      ([a, b]) => a === undefined || b === undefined || familyOf(a) !== familyOf(b),
      () => 'expected one IPv4 and one IPv6 network, got two of a kind',
    ),
  ],
  { expected: 'a network such as 10.244.0.0/16, or a list of one IPv4 and one IPv6 network' },
);

export const Mac = checked(
  Type.String({ expected: 'a MAC address such as 52:54:00:12:34:01' }),
  (text) => {
    const mac = normaliseMac(text);
    return mac !== undefined && macFault(mac) === undefined;
  },
  (text) => {
    const mac = normaliseMac(text);
    return mac === undefined ? '' : `${text} ${macFault(mac)}; give the card's own address`;
  },
);
export const Uuid = checked(
  Type.String({
    expected: 'a UUID such as 4c4c4544-0042-3510-8052-b4c04f384332',
    description: 'The SMBIOS UUID, either byte order.',
  }),
  (text) => normaliseUuid(text) !== undefined,
);
export const Ip = checked(
  Type.String({ expected: 'an IP address such as 10.0.0.11', description: 'Its address, if known.' }),
  (text) => normaliseIp(text) !== undefined,
  (text) =>
    text.includes('/')
      ? `expected an IP address without a prefix length, such as 10.0.0.11, got ${quote(text)}`
      : '',
);

const Domain = Type.String({
  pattern: '^~?([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\\.?)+$|^~\\.$',
  expected: 'a domain such as lab.example',
});
export const Network = Type.Object(
  {
    prefixLength: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 128,
        description: 'With `ip`: its address is set by hand, without DHCP.',
      }),
    ),
    gateway: Type.Optional(Ip),
    dns: Type.Optional(Type.Array(Ip, { description: 'Name servers.' })),
    domains: Type.Optional(Type.Array(Domain, { description: 'Search domains.' })),
  },
  {
    ...closed,
    description: 'The network of its hosts; without it they use DHCP. A host wins over its pool.',
  },
);

export type SecretRef = Static<typeof SecretRef>;
export type Network = Static<typeof Network>;
