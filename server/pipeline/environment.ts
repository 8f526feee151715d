/** Variables of the appliance that its steps see, too. Everything else, such as the database's password, they don't. */
const PASSED =
  /^(PATH|HOME|USER|LOGNAME|LANG|LC_[A-Z]+|TZ|SSL_CERT_(FILE|DIR)|HELM_(?!KUBE|NAMESPACE)[A-Z_]+|DOCKER_CONFIG|XDG_[A-Z_]+)$/;

const USUAL_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export interface Proxies {
  httpProxy?: string | undefined;
  httpsProxy?: string | undefined;
  noProxy?: string | undefined;
}

/** What every step and every program of the pipeline is started with. Pure. */
export function baseEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  { httpProxy, httpsProxy, noProxy }: Proxies,
): Record<string, string> {
  const passed = Object.entries(env).filter(
    (entry): entry is [string, string] => PASSED.test(entry[0]) && entry[1] !== undefined,
  );
  return {
    PATH: USUAL_PATH,
    LANG: 'C.UTF-8',
    ...Object.fromEntries(passed),
    ...(httpProxy === undefined ? {} : { HTTP_PROXY: httpProxy, http_proxy: httpProxy }),
    ...(httpsProxy === undefined ? {} : { HTTPS_PROXY: httpsProxy, https_proxy: httpsProxy }),
    ...(noProxy === undefined ? {} : { NO_PROXY: noProxy, no_proxy: noProxy }),
  };
}

/** The Kubernetes API is near: no proxy stands between. Pure. */
export function withoutProxyTo(env: Record<string, string>, server: string): Record<string, string> {
  if (env.HTTPS_PROXY === undefined && env.HTTP_PROXY === undefined) return env;
  const host = URL.canParse(server) ? new URL(server).hostname.replace(/^\[|\]$/g, '') : '';
  const list = [env.NO_PROXY, host].filter((part) => part !== undefined && part !== '').join(',');
  return { ...env, NO_PROXY: list, no_proxy: list };
}

/** Passwords in the addresses of proxies, as they are written there and as they are meant. Pure. */
export function proxyPasswords(env: Record<string, string>): string[] {
  return [env.HTTP_PROXY, env.HTTPS_PROXY].flatMap((proxy) => {
    if (proxy === undefined || !URL.canParse(proxy)) return [];
    const { password } = new URL(proxy);
    return password === '' ? [] : [password, decodeURIComponent(password)];
  });
}
