import type { Finding } from './finding.ts';

export interface ToolFacts {
  tool: 'kubectl' | 'helm';
  /** `undefined`: it is not there. */
  path: string | undefined;
  /** As it says itself, such as v1.36.3; `undefined` when it says nothing that can be read. */
  version: string | undefined;
  /** How to get it. */
  get: string;
}

/** Minor versions of Kubernetes. */
interface Range {
  from: number;
  to: number;
}

const KUBECTL_SKEW = 1;
const HELM_SKEW = 3;

/** Is the tool there, and does it fit each cluster? Pure. */
export function judgeTool(
  { tool, path, version, get }: ToolFacts,
  clusters: readonly { name: string; kubernetes: string }[],
): Finding[] {
  if (path === undefined) {
    const message = `${tool} is not there: the post-install pipeline can't run without it`;
    return [{ name: tool, status: 'warn', message, fix: get }];
  }
  const range = version === undefined ? undefined : rangeOf(tool, version);
  if (version === undefined || range === undefined) {
    return [
      { name: tool, status: 'warn', message: `${path} doesn't say its version: is it ${tool}?`, fix: get },
    ];
  }
  const misfits = clusters.filter(({ kubernetes }) => {
    const minor = minorOf(kubernetes);
    return minor < range.from || minor > range.to;
  });
  if (misfits.length === 0) return [{ name: tool, status: 'ok', message: `${version} (${path})` }];
  return misfits.map(({ name, kubernetes }) => ({
    name: tool,
    status: 'warn',
    message: `${version} is made for Kubernetes 1.${range.from} to 1.${range.to}; ${name} has ${kubernetes}`,
    fix: get,
  }));
}

/** What a version of a tool is made for. Each minor of Helm is built with one of Kubernetes. */
function rangeOf(tool: ToolFacts['tool'], version: string): Range | undefined {
  const [, major = 0, minor = 0] = /^v?(\d+)\.(\d+)\./.exec(version)?.map(Number) ?? [];
  if (tool === 'kubectl')
    return major === 1 ? { from: minor - KUBECTL_SKEW, to: minor + KUBECTL_SKEW } : undefined;
  const newest = major === 3 ? minor + 15 : major === 4 ? minor + 34 : undefined;
  return newest === undefined ? undefined : { from: newest - HELM_SKEW, to: newest };
}

function minorOf(version: string): number {
  return Number(version.split('.')[1]);
}
