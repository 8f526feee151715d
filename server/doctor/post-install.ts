import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { Web } from '../assets/web.ts';
import { systemCode } from '../errors.ts';
import type { Inventory } from '../inventory/model.ts';
import { readDefaults } from '../pipeline/defaults.ts';
import { baseEnvironment } from '../pipeline/environment.ts';
import { TOOL_SOURCES, Tools } from '../pipeline/tools.ts';
import type { Settings } from '../settings.ts';
import { VERSION } from '../version.ts';
import { examineSource, judgeClock, type Reached, sourcesOf } from './chart-sources.ts';
import type { DoctorInput } from './checks.ts';
import type { Finding } from './finding.ts';
import { judgeTool } from './kubernetes-tools.ts';

const TOOL_MS = 10_000;
const REACH_MS = 5_000;

/** What the post-install pipeline needs: kubectl, helm, charts, a right clock. Only where there are clusters. */
export async function examinePostInstall(
  settings: Settings,
  { clusters }: Pick<Inventory, 'clusters'>,
  { env, clusterVersions }: Pick<DoctorInput, 'env' | 'clusterVersions'>,
): Promise<Finding[]> {
  if (clusters.length === 0) return [];
  // What is there counts, not what is to be: they differ before an upgrade and after one by hand.
  const seen = clusters.map(({ name, kubernetes }) => ({
    name,
    kubernetes: clusterVersions.get(name)?.replace(/^v/, '') ?? kubernetes,
  }));
  const childEnv = baseEnvironment(env, settings);
  const tools = new Tools({
    wanted: { kubectl: settings.kubectl, helm: settings.helm },
    path: childEnv.PATH ?? '',
  });
  const toolFindings = (['kubectl', 'helm'] as const).map(async (tool) => {
    const path = await tools.find(tool);
    const version = path === undefined ? undefined : await versionOf(tool, path, childEnv);
    const get = `Install it (${TOOL_SOURCES[tool]}), or say where it is with --${tool} PROGRAM.`;
    return judgeTool({ tool, path, version, get }, seen);
  });
  const web = new Web({
    userAgent: `railhead/${VERSION}`,
    answerMs: REACH_MS,
    proxy: { HTTP_PROXY: settings.httpProxy, HTTPS_PROXY: settings.httpsProxy, NO_PROXY: settings.noProxy },
  });
  const sources = sourcesOf({ clusters }, { defaults: readDefaults(), inventoryDir: settings.inventory });
  const examined = await Promise.all(
    sources.map((source) => examineSource(source, (url) => reach(web, url))),
  );
  web.stop();
  const dates = examined.flatMap(({ date }) => (date === undefined ? [] : [date]));
  return [
    ...(await Promise.all(toolFindings)).flat(),
    ...examined.map(({ finding }) => finding),
    judgeClock(dates, Date.now()),
  ];
}

async function reach(web: Web, url: string): Promise<Reached> {
  try {
    const { response } = await web.open(url, { method: 'HEAD' });
    response.destroy();
    return { status: response.statusCode ?? 0, date: response.headers.date };
  } catch (error) {
    return { fault: error instanceof Error ? error.message : String(systemCode(error)) };
  }
}

const run = promisify(execFile);

async function versionOf(
  tool: 'kubectl' | 'helm',
  path: string,
  env: Record<string, string>,
): Promise<string | undefined> {
  const args = tool === 'kubectl' ? ['version', '--client', '-o', 'json'] : ['version', '--short'];
  const { stdout } = await run(path, args, { env, timeout: TOOL_MS, killSignal: 'SIGKILL' }).catch(() => ({
    stdout: '',
  }));
  return /v\d+\.\d+\.\d+[\w.-]*/.exec(stdout)?.[0];
}
