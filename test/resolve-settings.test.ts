import { describe, expect, it } from 'vitest';
import { RailheadError } from '../server/errors.ts';
import { resolveSettings, type SettingSources } from '../server/resolve-settings.ts';
import {
  declarationOf,
  envOf,
  flagOf,
  SETTING_NAMES,
  type SettingName,
  type Settings,
} from '../server/settings.ts';

type Given = Partial<Omit<SettingSources, 'file'>> & { file?: string };

function resolve({ file, ...given }: Given = {}): Settings {
  return resolveSettings({
    root: '/opt/railhead',
    cwd: '/home/me',
    flags: {},
    env: {},
    file: file === undefined ? undefined : { path: '/etc/railhead/railhead.yaml', text: file },
    ...given,
  });
}

function faults(given: Given): string[] {
  try {
    resolve(given);
  } catch (error) {
    if (!(error instanceof RailheadError)) throw error;
    expect({ code: error.code, exitCode: error.exitCode }).toEqual({
      code: 'RH_SETTINGS_INVALID',
      exitCode: 2,
    });
    expect(error.hint).toContain('--help');
    return error.message.split('\n');
  }
  throw new Error('nothing was wrong');
}

describe('settings', () => {
  it('work without being given any', () => {
    expect(resolve()).toMatchObject({
      inventory: '/opt/railhead/inventory',
      data: '/opt/railhead/data',
      boot: '/opt/railhead/boot',
      assets: '/opt/railhead/assets',
      bind: '0.0.0.0',
      httpPort: 8080,
      httpsPort: 8443,
      tftpPort: 69,
      watch: true,
      logLevel: 'info',
      logFormat: 'auto',
      eventsKeepCount: 200_000,
      eventsKeepDays: 90,
    });
  });

  it('come from the file, over that the environment, over that the flags', () => {
    const file = 'httpPort: 1\nhttpsPort: 1\ntftpPort: 1\n';
    const env = { RAILHEAD_HTTPS_PORT: '2', RAILHEAD_TFTP_PORT: '2' };
    const settings = resolve({ file, env, flags: { tftpPort: '3' } });
    expect([settings.httpPort, settings.httpsPort, settings.tftpPort]).toEqual([1, 2, 3]);
  });

  it('that are paths start at the folder of whoever said so', () => {
    const settings = resolve({
      file: 'boot: ../boot\nassets: /srv/assets\n',
      env: { RAILHEAD_DATA: 'data' },
      flags: { inventory: '../inv' },
    });
    expect(settings).toMatchObject({
      boot: '/etc/boot',
      assets: '/srv/assets',
      data: '/home/me/data',
      inventory: '/home/inv',
    });
  });

  it.each<{ what: string; given: Given; expected: Partial<Settings> }>([
    { what: 'a port of 0', given: { env: { RAILHEAD_HTTP_PORT: '0' } }, expected: { httpPort: 0 } },
    { what: 'false as text', given: { env: { RAILHEAD_WATCH: 'false' } }, expected: { watch: false } },
    { what: 'a boolean flag', given: { flags: { watch: false } }, expected: { watch: false } },
    { what: 'false in the file', given: { file: 'watch: false' }, expected: { watch: false } },
    {
      what: 'an empty variable: as if not there',
      given: { env: { RAILHEAD_HTTP_PORT: '' } },
      expected: { httpPort: 8080 },
    },
    { what: 'an empty file', given: { file: '' }, expected: { httpPort: 8080 } },
    { what: 'a file of comments', given: { file: '# httpPort: 1\n' }, expected: { httpPort: 8080 } },
    {
      what: 'a folder whose name is a number',
      given: { file: 'data: 0042' },
      expected: { data: '/etc/railhead/0042' },
    },
    { what: 'IPv6 to listen on', given: { flags: { bind: '::' } }, expected: { bind: '::' } },
    {
      what: 'PostgreSQL',
      given: { env: { DATABASE_URL: 'postgresql://me@db/railhead' } },
      expected: { databaseUrl: 'postgresql://me@db/railhead' },
    },
    ...[
      '10.0.0.5',
      '10.0.0.5:8080',
      'http://10.0.0.5/',
      'https://boot.example.org',
      'fd00::5',
      '[fd00::5]:80',
    ].map((advertise) => ({
      what: `to advertise ${advertise}`,
      given: { flags: { advertise } },
      expected: { advertise },
    })),
  ])('take $what', ({ given, expected }) => {
    expect(resolve(given)).toMatchObject(expected);
  });
});

describe('a wrong setting', () => {
  const PORT = 'expected a port number from 0 to 65535 (0: any free port)';
  const ADVERTISE = 'expected an address such as 10.0.0.5 or http://10.0.0.5:8080';

  it.each<{ what: string; given: Given; says: string[] }>([
    {
      what: 'a port that is text',
      given: { flags: { httpPort: 'http' } },
      says: [`--http-port: ${PORT}, got "http"`],
    },
    {
      what: 'a port out of range',
      given: { env: { RAILHEAD_TFTP_PORT: '70000' } },
      says: [`RAILHEAD_TFTP_PORT: ${PORT}, got "70000"`],
    },
    {
      what: 'a negative port',
      given: { flags: { httpPort: '-1' } },
      says: [`--http-port: ${PORT}, got "-1"`],
    },
    { what: 'an empty flag', given: { flags: { httpPort: '' } }, says: [`--http-port: ${PORT}, got ""`] },
    {
      what: 'an unknown word',
      given: { flags: { logLevel: 'loud' } },
      says: ['--log-level: expected trace, debug, info, warn, error, silent, got "loud"'],
    },
    {
      what: 'a boolean that is none',
      given: { env: { RAILHEAD_WATCH: 'yes' } },
      says: ['RAILHEAD_WATCH: expected true or false, got "yes"'],
    },
    {
      what: 'a name to listen on',
      given: { flags: { bind: 'localhost' } },
      says: ['--bind: expected an IP address such as 0.0.0.0 or ::, got "localhost"'],
    },
    {
      what: 'an address that is none',
      given: { flags: { bind: '10.0.0.256' } },
      says: ['--bind: expected an IP address such as 0.0.0.0 or ::, got "10.0.0.256"'],
    },
    ...[
      '10.0.0.256',
      '10.0.0.5:99999',
      'ftp://x',
      'http://',
      'http://x/path',
      'me:pw@host',
      'a b',
      'fe80::1%eth0',
      'x?y',
    ].map((advertise) => ({
      what: `to advertise ${advertise}`,
      given: { flags: { advertise } },
      says: [`--advertise: ${ADVERTISE}, got "${advertise}"`],
    })),
    {
      what: 'a misspelt variable',
      given: { env: { RAILHEAD_HTP_PORT: '1' } },
      says: ['RAILHEAD_HTP_PORT: no such setting; did you mean "RAILHEAD_HTTP_PORT"?'],
    },
    {
      what: 'a variable in the singular',
      given: { env: { RAILHEAD_ASSET: 'x' } },
      says: ['RAILHEAD_ASSET: no such setting; did you mean "RAILHEAD_ASSETS"?'],
    },
    {
      what: 'a misspelt key in the file',
      given: { file: '# mine\nhtpPort: 1\n' },
      says: ['/etc/railhead/railhead.yaml:2:1: error: unknown key "htpPort"; did you mean "httpPort"?'],
    },
    {
      what: 'a wrong value in the file',
      given: { file: 'watch: true\nhttpPort: many\n' },
      says: [`/etc/railhead/railhead.yaml:2:11: error: \`httpPort\`: ${PORT}, got "many"`],
    },
    {
      what: 'an address in the file that can not be one',
      given: { file: 'advertise: 10.0.0.256\n' },
      says: [`/etc/railhead/railhead.yaml:1:12: error: \`advertise\`: ${ADVERTISE}, got "10.0.0.256"`],
    },
    {
      what: 'no value in the file',
      given: { file: 'httpsPort: 1\nhttpPort:\n' },
      says: [`/etc/railhead/railhead.yaml:2:1: error: \`httpPort\`: ${PORT}, got nothing`],
    },
    {
      what: 'a file that is a list',
      given: { file: '- httpPort\n' },
      says: ['/etc/railhead/railhead.yaml:1:1: error: expected a mapping (key: value), got a list'],
    },
    {
      what: 'a file that is not YAML',
      given: { file: 'httpPort: [\n' },
      says: [
        '/etc/railhead/railhead.yaml:2:1: error: not valid YAML: a quote or bracket that was opened above is not closed, or this line is not indented enough',
      ],
    },
    {
      what: 'several at once, from everywhere',
      given: {
        file: 'httpPort: x\nlogLevel: loud\n',
        env: { RAILHEAD_HTTPS_PORT: 'y', RAILHEAD_BIN: '::' },
        flags: { tftpPort: 'z', watch: 'maybe' },
      },
      says: [
        `/etc/railhead/railhead.yaml:1:11: error: \`httpPort\`: ${PORT}, got "x"`,
        '/etc/railhead/railhead.yaml:2:11: error: `logLevel`: expected one of trace, debug, info, warn, error, silent, got "loud"',
        `RAILHEAD_HTTPS_PORT: ${PORT}, got "y"`,
        `--tftp-port: ${PORT}, got "z"`,
        '--watch: expected true or false, got "maybe"',
        'RAILHEAD_BIN: no such setting; did you mean "RAILHEAD_BIND"?',
      ],
    },
  ])('is said with where it came from: $what', ({ given, says }) => {
    expect(faults(given)).toEqual(says);
  });

  it('is not repeated when it may hold a password', () => {
    const url = 'mysql://me:hunter2@db/railhead';
    expect(faults({ env: { DATABASE_URL: url } })).toEqual([
      'DATABASE_URL: expected a URL such as postgres://user@host/railhead, got something else',
    ]);
    expect(faults({ file: `databaseUrl: ${url}\n` })).toEqual([
      '/etc/railhead/railhead.yaml:1:14: error: `databaseUrl`: expected a URL such as postgres://user@host/railhead, got plain text',
    ]);
  });

  it.each([
    'RAILHEAD_PORT',
    'RAILHEAD_SERVICE_HOST',
    'RAILHEAD_PORT_8080_TCP',
    'RAILHEAD_FOO',
    'RAILHEAD_TEST_PARTS',
    'RAILHEAD_TAG',
  ])('is not any variable with our prefix: %s is let pass', (name) => {
    expect(() => resolve({ env: { [name]: 'tcp://10.0.0.1:80' } })).not.toThrow();
  });
});

describe('the names of a setting', () => {
  it.each<{ name: SettingName; flag: string; env: string }>([
    { name: 'inventory', flag: '--inventory', env: 'RAILHEAD_INVENTORY' },
    { name: 'data', flag: '--data', env: 'RAILHEAD_DATA' },
    { name: 'bind', flag: '--bind', env: 'RAILHEAD_BIND' },
    { name: 'httpPort', flag: '--http-port', env: 'RAILHEAD_HTTP_PORT' },
    { name: 'httpsPort', flag: '--https-port', env: 'RAILHEAD_HTTPS_PORT' },
    { name: 'tftpPort', flag: '--tftp-port', env: 'RAILHEAD_TFTP_PORT' },
    { name: 'advertise', flag: '--advertise', env: 'RAILHEAD_ADVERTISE' },
    { name: 'eventsKeepCount', flag: '--events-keep-count', env: 'RAILHEAD_EVENTS_KEEP_COUNT' },
    { name: 'databaseUrl', flag: '--database-url', env: 'DATABASE_URL' },
  ])('are $flag and $env for $name', ({ name, flag, env }) => {
    expect(flagOf(name)).toBe(flag);
    expect(envOf(name)).toBe(env);
  });

  it('are all different, and each has a word of help', () => {
    expect(new Set(SETTING_NAMES.map(flagOf)).size).toBe(SETTING_NAMES.length);
    expect(new Set(SETTING_NAMES.map(envOf)).size).toBe(SETTING_NAMES.length);
    for (const name of SETTING_NAMES) expect(declarationOf(name).description).toMatch(/\w{3}/);
  });

  it('give a flag to all but what may hold a password, or begins like a negation', () => {
    expect(SETTING_NAMES.filter((name) => declarationOf(name).argument === undefined)).toEqual([
      'httpProxy',
      'httpsProxy',
      'noProxy',
      'databaseUrl',
    ]);
  });
});
