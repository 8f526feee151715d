import { quote } from '../../document/problem.ts';
import type { ConfigPath } from '../spec/place.ts';
import type { IgnitionConfig, Resource } from '../spec/schema.ts';
import { HASH_SINCE, RULE_SINCE } from '../spec/since.ts';
import { type CheckContext, has, knownAt } from './check.ts';
import { isHttp, urlFault } from './urls.ts';

const HEX_LENGTH: Readonly<Record<string, number>> = { sha256: 64, sha512: 128 };

/** All that is fetched: configs, authorities, contents of files, keys. */
export function checkResources(config: IgnitionConfig, context: CheckContext): void {
  const { ignition, storage } = config;
  const inConfig = ['ignition', 'config'];
  ignition.config?.merge?.forEach((resource, index) => {
    const path = [...inConfig, 'merge', index];
    checkResource(resource, path, context);
    if (has(context, RULE_SINCE.mergeNeedsSource)) checkHasSource(resource, path, context);
  });
  if (ignition.config?.replace) checkResource(ignition.config.replace, [...inConfig, 'replace'], context);
  ignition.security?.tls?.certificateAuthorities?.forEach((resource, index) => {
    const path = ['ignition', 'security', 'tls', 'certificateAuthorities', index];
    checkResource(resource, path, context);
    checkHasSource(resource, path, context);
  });
  storage?.files?.forEach((file, index) => {
    const path = ['storage', 'files', index];
    if (file.contents) checkResource(file.contents, [...path, 'contents'], context, true);
    file.append?.forEach((resource, n) => {
      checkResource(resource, [...path, 'append', n], context, true);
    });
  });
  storage?.luks?.forEach((luks, index) => {
    if (luks.keyFile) checkResource(luks.keyFile, ['storage', 'luks', index, 'keyFile'], context);
  });
}

function checkHasSource({ source }: Resource, path: ConfigPath, context: CheckContext): void {
  if (source === undefined || source === '') {
    context.error(path, 'a source is missing; say with "source" where to fetch this from');
  }
}

function checkResource(resource: Resource, path: ConfigPath, context: CheckContext, isOfFile = false): void {
  const { source, compression, verification, httpHeaders } = resource;
  if (compression !== undefined && !['', 'gzip'].includes(compression)) {
    context.error([...path, 'compression'], `expected "gzip" or nothing, got ${quote(compression)}`);
  }
  const hash = verification?.hash;
  if (hash !== undefined) checkHash(hash, [...path, 'verification', 'hash'], context);
  const needsSource = isOfFile || has(context, RULE_SINCE.hashNeedsSourceEverywhere);
  if (hash !== undefined && source === undefined && needsSource) {
    context.error(
      [...path, 'verification', 'hash'],
      'there is a hash but no source; add "source", or remove it',
    );
  }
  if (source !== undefined && source !== '') {
    const fault = urlFault(source, context.version);
    if (fault !== undefined) context.error([...path, 'source'], fault);
  }
  if (httpHeaders !== undefined) checkHeaders(resource, path, context);
}

function checkHash(hash: string, path: ConfigPath, context: CheckContext): void {
  const dash = hash.indexOf('-');
  const kind = hash.slice(0, Math.max(0, dash));
  const sum = hash.slice(dash + 1);
  const since = Object.hasOwn(HASH_SINCE, kind) ? HASH_SINCE[kind] : undefined;
  const known = knownAt(context.version, HASH_SINCE);
  if (dash >= 0 && since !== undefined && !known.includes(kind)) {
    context.error(path, `"${kind}" came with spec ${since}; set ignition.version to "${since}"`);
  } else if (dash < 0 || since === undefined) {
    context.error(path, `expected ${known.map((name) => `"${name}-…"`).join(' or ')}, got ${quote(hash)}`);
  } else if (Buffer.byteLength(sum) !== HEX_LENGTH[kind]) {
    context.error(path, `a ${kind} has ${HEX_LENGTH[kind]} hexadecimal digits, but here are ${sum.length}`);
  } else if (!/^[0-9a-f]+$/i.test(sum)) {
    context.warning(
      path,
      'the hash is not hexadecimal: Ignition will refuse what it fetches; compute it again',
    );
  } else if (/[A-F]/.test(sum)) {
    context.warning(path, 'the hash has capital letters; hashes are compared in lower case, so write it so');
  }
}

function checkHeaders({ source, httpHeaders = [] }: Resource, path: ConfigPath, context: CheckContext): void {
  httpHeaders.forEach(({ name, value }, index) => {
    const at = [...path, 'httpHeaders', index];
    if (name === '') context.error([...at, 'name'], 'a header needs a name, such as "Authorization"');
    if (value === '') {
      context.error(
        [...at, 'value'],
        'a header needs a value; without the key "value" it is taken away in a merge',
      );
    }
  });
  if (httpHeaders.length > 0 && !isHttp(source ?? '')) {
    context.error([...path, 'httpHeaders'], 'headers go with a source of http or https only; remove them');
  }
}
