import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { FastifyBaseLogger } from 'fastify';
import pino from 'pino';
import { expect, onTestFinished } from 'vitest';
import { buildHttpApp } from '../../server/http/app.ts';
import { type Appliance, ask } from './appliance.ts';
import { httpContext } from './http-context.ts';

/** Texts by what they are called: secrets, or places where they must not be. */
export type Named = Record<string, string>;

export interface PlacesOptions {
  /** The first of them stands for `:host`. */
  hosts: readonly string[];
  /** What follows a path in a request, by the route. */
  queries: Record<string, string[]>;
  /** What a person asks on the command line. */
  commands: readonly string[][];
}

/** What stands for a parameter of a route; those of boots need a token, and are not for everybody. */
const PARAMETERS: Record<string, string> = {
  ':revision': 'in-force',
  ':cluster': 'lab',
  ':name': 'kubernetes',
  ':file': 'SHA256SUMS',
  '*': 'flatcar/stable/amd64-usr/4593.2.5/',
};
/** They never end; what they send before they fall silent is what they have. */
const SILENCE_MS = 1500;

/** Every place where a person, a stranger or a backup can look: by what it is called. */
export async function placesOf(appliance: Appliance, options: PlacesOptions): Promise<Named> {
  const ca = await readFile(appliance.dataPath('keys', 'ca.pem'), 'utf8');
  const found: Named = {};
  const { paths, streams } = await publicPaths(options);
  expect(paths.length).toBeGreaterThan(25);
  for (const path of paths) {
    for (const base of [appliance.url, appliance.httpsUrl]) {
      const { status, headers, body } = await ask(`${base}${path}`, { ca });
      found[`${base}${path}`] = `${status} ${JSON.stringify(headers)}\n${body}`;
    }
  }
  expect(streams.length).toBeGreaterThan(0);
  for (const path of streams) found[path] = await beginningOf(`${appliance.url}${path}`);
  for (const command of options.commands) {
    const { stdout, stderr } = await appliance.cli(...command);
    found[`railhead ${command.join(' ')}`] = stdout + stderr;
  }
  const backup = join(appliance.site.dir, 'backup.railhead');
  expect(await appliance.cli('backup', backup)).toMatchObject({ code: 0 });
  const bytes = await readFile(backup);
  found['a backup without a passphrase'] =
    bytes[0] === 0x1f ? gunzipSync(bytes).toString('latin1') : bytes.toString('latin1');
  for (const file of await readdir(appliance.site.data, { recursive: true, withFileTypes: true })) {
    const path = join(file.parentPath, file.name);
    if (file.isFile() && !path.includes('/keys/')) found[path] = await readFile(path, 'latin1');
  }
  found['its output'] = appliance.output;
  return found;
}

/** Everything that can be asked for without a token, as the product itself lists it. */
async function publicPaths({
  hosts,
  queries,
}: PlacesOptions): Promise<{ paths: string[]; streams: string[] }> {
  const found = new Set<string>();
  const context = await httpContext();
  const logger = pino({ level: 'silent' }) as FastifyBaseLogger;
  const app = buildHttpApp({ context, logger, tls: { cert: '', key: '' } });
  onTestFinished(() => app.close());
  app.addHook('onRoute', ({ method, url, config }) => {
    if ([method].flat().includes('GET') && config?.access === 'public') found.add(url);
  });
  await app.ready();
  const all = [...found]
    .filter((url) => !url.includes(':token'))
    .flatMap((url) => {
      const first = url.replaceAll(/:\w+|\*/g, (name) => {
        const value = name === ':host' ? hosts[0] : PARAMETERS[name];
        if (value === undefined) throw new Error(`${url}: say in PARAMETERS what ${name} is`);
        return value;
      });
      const each = url.includes(':host') ? hosts.map((host) => first.replace(hosts[0]!, host)) : [first];
      return each.flatMap((one) => (queries[url] ?? ['']).map((query) => `${one}${query}`));
    });
  const isStream = (path: string) => path.endsWith('/stream');
  return { paths: all.filter((path) => !isStream(path)), streams: all.filter(isStream) };
}

async function beginningOf(url: string): Promise<string> {
  const silence = new AbortController();
  const response = await fetch(`${url}?after=0`, { signal: silence.signal });
  const timer = setTimeout(() => silence.abort(), SILENCE_MS);
  let text = '';
  try {
    for await (const chunk of response.body!) {
      text += Buffer.from(chunk).toString();
      timer.refresh();
    }
  } catch (error) {
    if (!silence.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
  }
  return text;
}

/** Lines of the keys folder that are no certificate. */
export async function keysOf(appliance: Appliance): Promise<Named> {
  const keys: Named = {};
  for (const file of await readdir(appliance.dataPath('keys'))) {
    if (file === 'ca.pem') continue;
    const lines = (await readFile(appliance.dataPath('keys', file), 'utf8')).split('\n');
    const longest = lines.toSorted((a, b) => b.length - a.length)[0]!.trim();
    expect(longest.length, file).toBeGreaterThan(20);
    keys[`keys/${file}`] = longest;
    if (file === 'vault.key')
      keys['the bytes of the vault key'] = Buffer.from(longest, 'base64').toString('latin1');
  }
  return keys;
}

/** Where a secret is, in whatever form: as it is, in base64, in a URL, or a key line by line. */
export function hitsOf(secrets: Named, places: Named): string[] {
  return Object.entries(secrets).flatMap(([what, secret]) => {
    const forms = formsOf(secret);
    return Object.entries(places)
      .filter(([, text]) => forms.some((form) => text.includes(form)))
      .map(([place]) => `${what} is in ${place}`);
  });
}

function formsOf(secret: string): string[] {
  const base64 = Buffer.from(secret).toString('base64').replace(/=+$/, '');
  if (!secret.includes('-----BEGIN')) return [secret, base64, encodeURIComponent(secret)];
  const lines = secret.split('\n').filter((line) => line !== '' && !line.startsWith('-----'));
  // In a kubeconfig a whole key is in base64 once more; any part of it is enough.
  return [...lines, base64.slice(60, 120)];
}
