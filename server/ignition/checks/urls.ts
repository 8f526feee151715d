import { URL_SCHEME_SINCE } from '../spec/since.ts';
import type { SpecVersion } from '../spec/version.ts';
import { knownAt } from './check.ts';
import { dataUrlFault } from './data-url.ts';
import { type GoUrl, parseGoUrl, queryValue } from './go-url.ts';

/** Why Ignition can't fetch from a URL, or undefined when nothing speaks against it. */
export function urlFault(text: string, version: SpecVersion): string | undefined {
  const url = parseGoUrl(text);
  const schemes = knownAt(version, URL_SCHEME_SINCE);
  // The text itself is not shown: it may hold a password or a token.
  if (url === undefined) return 'this is no URL; write one such as "https://example.com/file"';
  if (!schemes.includes(url.scheme)) {
    const since = Object.hasOwn(URL_SCHEME_SINCE, url.scheme) ? URL_SCHEME_SINCE[url.scheme] : undefined;
    if (since !== undefined)
      return `"${url.scheme}:" came with spec ${since}; set ignition.version to "${since}"`;
    return `Ignition can't fetch from "${url.scheme}:"; use one of ${schemes.join(', ')}`;
  }
  switch (url.scheme) {
    case 'data': {
      const fault = dataUrlFault(text);
      return fault === undefined ? undefined : `this "data:" URL can't be decoded: ${fault}`;
    }
    case 's3':
      return versionIdFault(url);
    case 'arn':
      return arnFault(url) ?? versionIdFault(url);
    default:
      return undefined;
  }
}

export function isHttp(text: string): boolean {
  return ['http', 'https'].includes(parseGoUrl(text)?.scheme ?? '');
}

function versionIdFault({ query }: GoUrl): string | undefined {
  return queryValue(query, 'versionId') === ''
    ? '"versionId=" has no value; give one or remove it'
    : undefined;
}

/** arn:partition:s3:region:account:resource, the resource being `bucket/key` or `accesspoint/name/object/key`. */
function arnFault({ opaque }: GoUrl): string | undefined {
  const [, service, , , ...resource] = opaque.split(':');
  if (resource.length === 0 || service !== 's3') {
    return 'this is no name of an S3 object; write one such as "arn:aws:s3:::bucket/key"';
  }
  const slashes = opaque.split('/').length - 1;
  const isAccessPoint = resource.join(':').startsWith('accesspoint/');
  return slashes < (isAccessPoint ? 2 : 1)
    ? 'this names a bucket, but no object in it; add "/key"'
    : undefined;
}
