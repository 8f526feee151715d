import type { ClusterDescription } from '../cluster/describe.ts';
import type { ClusterSpec, HostSpec } from '../inventory/model.ts';
import type { PipelineStatus, StepStatus } from '../pipeline/describe.ts';

export interface ClusterPageInput {
  version: string;
  cluster: ClusterSpec;
  /** What is known of its API and its keys. */
  described: ClusterDescription;
  hosts: readonly HostSpec[];
  /** What was seen of each host, in the same order. */
  observed: readonly { state: string }[];
  pipeline: PipelineStatus;
  /** The end of its log, and the number of the last piece. */
  log: readonly { id: number; text: string }[];
}

const TONES: Record<string, string> = {
  done: 'good',
  failed: 'bad',
  refused: 'bad',
  invalid: 'bad',
  retrying: 'bad',
};

/** One cluster: how far its pipeline is, and who is missing. Pure. */
export function clusterView(input: ClusterPageInput) {
  const { version, cluster, described, hosts, observed, pipeline, log } = input;
  const { name, state, summary, steps, auto, observation } = pipeline;
  const tone = TONES[state] ?? '';
  const facts: [string, string | undefined][] = [
    ['Kubernetes', cluster.kubernetes],
    ['pod network', cluster.podCidrs.join(', ')],
    ['add-ons', cluster.addons.map(describeAddon).join(', ') || 'none'],
    ['starts', auto ? 'by itself' : 'by hand: railhead pipeline run'],
  ];
  const after = log.at(-1)?.id ?? 0;
  return {
    version,
    name,
    state,
    tone,
    cardTone: tone === 'good' ? '' : tone,
    summary,
    failed: steps.find((step) => step.state === 'failed')?.name ?? '',
    facts: shown(facts),
    access: shown(accessFacts(described)),
    faults: described.secrets?.faults ?? [],
    nodes:
      observation === 'unknown'
        ? 'unknown: the API was not asked'
        : `${observation.nodesReady} of ${hosts.length} Ready`,
    missing: missingOf(pipeline),
    steps: steps.map(stepRow),
    hosts: hosts.map((host, index) => ({
      name: host.name,
      role: host.role,
      state: observed[index]?.state ?? '',
    })),
    // Not `log`: Handlebars has a helper of that name.
    logText: log.map(({ text }) => text).join(''),
    logStream: `/api/v1/clusters/${encodeURIComponent(name)}/pipeline/logs/stream?after=${after}`,
  };
}

function shown(facts: readonly [string, string | undefined][]) {
  return facts.flatMap(([label, value]) => (value === undefined ? [] : [{ label, value }]));
}

/** Where its API is and how it is, who has begun, who joins now, and when its authorities are over. */
function accessFacts({
  endpoint,
  api,
  init,
  joining,
  secrets,
}: ClusterDescription): [string, string | undefined][] {
  const how = api.reason === '' ? api.state : `${api.state}: ${api.reason}`;
  const begun = init?.done === null ? `${init.host}, not done yet` : init?.host;
  return [
    ['API', init === null && api.state === 'not-begun' ? 'not begun yet' : how],
    ['endpoint', endpoint ?? 'the address of the first host, when it asks'],
    ['runs', api.version ?? undefined],
    ['begun by', begun],
    ['joining now', joining.map(({ host }) => host).join(', ') || undefined],
    ...Object.entries(secrets?.expires ?? {}).map(([what, day]): [string, string] => [what, `until ${day}`]),
  ];
}

function describeAddon({ name, version, enabled }: ClusterSpec['addons'][number]): string {
  return `${name}${version === undefined ? '' : ` ${version}`}${enabled === false ? ' (off)' : ''}`;
}

function missingOf({ hosts: { missing, members } }: PipelineStatus): string {
  if (missing === null || missing === 0) return '';
  return `${missing} of ${members} hosts are not Ready nodes yet. The pipeline goes on without them.`;
}

function stepRow({ name, state, reason, attempts, retryAt, startedAt, endedAt }: StepStatus) {
  const tone = TONES[state] ?? '';
  const again = state === 'retrying' && retryAt !== null ? ` (again at ${timeOf(retryAt)})` : '';
  return {
    name,
    state,
    tone,
    bad: tone === 'bad',
    reason: `${reason ?? ''}${again}`,
    attempts: attempts === 0 ? '' : String(attempts),
    started: startedAt === null ? '' : startedAt.replace('T', ' ').slice(0, 19),
    took:
      startedAt === null || endedAt === null
        ? ''
        : `${((Date.parse(endedAt) - Date.parse(startedAt)) / 1000).toFixed(1)} s`,
  };
}

function timeOf(iso: string): string {
  return iso.slice(11, 19);
}
