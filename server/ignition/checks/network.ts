import type { IgnitionConfig } from '../spec/schema.ts';
import type { CheckContext } from './check.ts';
import { parseGoUrl } from './go-url.ts';

/** How Ignition is to fetch: proxies and time limits. */
export function checkNetwork({ ignition }: IgnitionConfig, context: CheckContext): void {
  const path = ['ignition', 'proxy'];
  for (const field of ['httpProxy', 'httpsProxy'] as const) {
    const proxy = ignition.proxy?.[field];
    if (proxy === undefined) continue;
    const scheme = parseGoUrl(proxy)?.scheme;
    if (scheme !== 'http' && scheme !== 'https') {
      context.error([...path, field], 'expected a URL of http or https, such as "http://proxy:3128"');
    } else if (field === 'httpsProxy' && scheme === 'http') {
      context.warning([...path, field], 'what is fetched over https is asked of this proxy in plain http');
    }
  }
  for (const [field, seconds] of Object.entries(ignition.timeouts ?? {})) {
    if (seconds < 0) context.warning(['ignition', 'timeouts', field], `${seconds} seconds is impossible`);
  }
  if (ignition.config?.replace?.source && ignition.config.merge?.length) {
    context.warning(
      ['ignition', 'config', 'merge'],
      '"replace" replaces all of this config: nothing is merged',
    );
  }
}
