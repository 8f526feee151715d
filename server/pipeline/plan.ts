import { parseEndpoint } from '../cluster/endpoint.ts';
import { didYouMean } from '../document/nearest.ts';
import type { ClusterSpec, HostSpec } from '../inventory/model.ts';
import type { KnownAddon } from '../inventory/pipeline-faults.ts';
import type { PipelineStep } from '../inventory/schema.ts';
import { type Chart, chartEnv, chartOf } from './charts.ts';
import type { Defaults } from './defaults.ts';

/** What a step needs before it may start. */
export type Need = 'api' | 'node';

/** A step as the inventory wants it, ready to be run. */
export interface PlannedStep {
  /** `install-core:cilium`: a script, and which part of it. */
  name: string;
  /** The file in `scripts/post-install`. */
  script: string;
  args: readonly string[];
  need: Need;
  timeoutMs: number;
  attempts: number;
  retryMs: number;
  /** Plain variables; never a secret. */
  env: Record<string, string>;
  /** Variables that name a file with these values, in which secrets are references yet. */
  files: Record<string, Record<string, unknown>>;
  /** Charts of its own, on this machine: their content is an input, too. */
  paths: readonly string[];
  tools: readonly Tool[];
  /** Why there is nothing to do. */
  notNeeded?: string;
  /** Why it can't be run at all: nothing of the pipeline starts then. */
  invalid?: string;
  /** It goes over all nodes, so it is due again when more of them have come. */
  perNode: boolean;
}

export type Tool = 'kubectl' | 'helm';

export interface PlanInput {
  cluster: ClusterSpec;
  /** Of the whole inventory. */
  hosts: readonly HostSpec[];
  defaults: Defaults;
  inventoryDir: string;
  /** Looks at the file of a step. */
  script: (name: string) => ScriptState;
}

export type ScriptState = { ok: true } | { ok: false; fault: string; known: readonly string[] };

/** One that the pipeline brings along: what it is given, or why it is not needed. */
interface BuiltIn {
  /** Which part of the script, when it is one of several. */
  part?: string;
  args?: readonly string[];
  need: Need;
  tools: readonly Tool[];
  perNode?: true;
  about: (input: PlanInput) => About;
}

type About = { notNeeded: string } | { charts?: readonly Chart[]; env?: Record<string, string> };

export const BUILT_IN_STEPS = ['untaint', 'install-core', 'install-argo', 'bootstrap-apps'] as const;

const DEFAULTS = { timeoutSeconds: 900, attempts: 3, retrySeconds: 15 } as const;

const BUILT_INS: Record<(typeof BUILT_IN_STEPS)[number], readonly BuiltIn[]> = {
  untaint: [{ need: 'api', tools: ['kubectl'], perNode: true, about: aboutUntaint }],
  'install-core': [
    { part: 'cilium', need: 'api', tools: ['kubectl', 'helm'], about: aboutCilium },
    {
      part: 'cert-manager',
      args: ['cert-manager'],
      need: 'node',
      tools: ['kubectl', 'helm'],
      about: (input) => onlyChart(input, 'cert-manager'),
    },
  ],
  'install-argo': [
    { need: 'node', tools: ['kubectl', 'helm'], about: (input) => onlyChart(input, 'argocd') },
  ],
  'bootstrap-apps': [{ need: 'node', tools: ['kubectl'], about: aboutApps }],
};

/** The steps of a cluster in their order, with everything that they are given. Pure. */
export function planSteps(input: PlanInput): PlannedStep[] {
  const steps = input.cluster.pipeline?.steps ?? BUILT_IN_STEPS;
  return steps.flatMap((given) => {
    const step: PipelineStep = typeof given === 'string' ? { name: given } : given;
    const found = input.script(step.name);
    const invalid = found.ok ? undefined : explain(step.name, found);
    const builtIns: readonly BuiltIn[] | undefined = isBuiltIn(step.name) ? BUILT_INS[step.name] : undefined;
    const planned = builtIns?.map((one) => builtInStep(step, one, input)) ?? [ownStep(step, input)];
    return planned.map((one) => (invalid === undefined ? one : { ...one, invalid }));
  });
}

function isBuiltIn(name: string): name is keyof typeof BUILT_INS {
  return Object.hasOwn(BUILT_INS, name);
}

function explain(name: string, { fault, known }: Extract<ScriptState, { ok: false }>): string {
  return `${fault}${didYouMean(name, [...new Set([...BUILT_IN_STEPS, ...known])])}`;
}

function common(step: PipelineStep, input: PlanInput): Omit<PlannedStep, 'name' | 'need' | 'tools'> {
  const { timeoutSeconds, attempts, retrySeconds } = { ...DEFAULTS, ...step };
  return {
    script: step.name,
    args: [],
    timeoutMs: timeoutSeconds * 1000,
    attempts,
    retryMs: retrySeconds * 1000,
    env: { RAILHEAD_CLUSTER: input.cluster.name },
    files: {},
    paths: [],
    perNode: false,
  };
}

/** A person's own: it is given what all are given, and values if it has any. */
function ownStep(step: PipelineStep, input: PlanInput): PlannedStep {
  const { cluster } = input;
  const base = common(step, input);
  return {
    ...base,
    name: step.name,
    need: step.when ?? 'node',
    tools: [],
    env: { ...base.env, RAILHEAD_KUBERNETES: cluster.kubernetes, POD_CIDRS: cluster.podCidrs.join(' ') },
    files: step.values === undefined ? {} : { RAILHEAD_VALUES: step.values },
  };
}

function builtInStep(step: PipelineStep, builtIn: BuiltIn, input: PlanInput): PlannedStep {
  const about = builtIn.about(input);
  const base: PlannedStep = {
    ...common(step, input),
    name: builtIn.part === undefined ? step.name : `${step.name}:${builtIn.part}`,
    args: builtIn.args ?? [],
    need: step.when ?? builtIn.need,
    tools: builtIn.tools,
    perNode: builtIn.perNode ?? false,
  };
  if ('notNeeded' in about) return { ...base, notNeeded: about.notNeeded };
  const charts = about.charts ?? [];
  return {
    ...base,
    args: builtIn.part === 'cilium' ? charts.map(({ addon }) => addon) : base.args,
    env: Object.assign({}, base.env, about.env, ...charts.map(chartEnv)) as Record<string, string>,
    files: Object.fromEntries(
      charts.flatMap(({ prefix, values }) => (values === undefined ? [] : [[`${prefix}_VALUES`, values]])),
    ),
    paths: charts.flatMap(({ source }) => ('path' in source ? [source.path] : [])),
  };
}

function membersOf({ cluster, hosts }: PlanInput): HostSpec[] {
  return hosts.filter((host) => host.cluster === cluster.name && host.member);
}

function aboutUntaint(input: PlanInput): About {
  const wanted = input.cluster.pipeline?.untaint ?? 'auto';
  if (wanted === 'never') return { notNeeded: 'the inventory says never' };
  const workers = membersOf(input).filter(({ role }) => role === 'worker').length;
  if (wanted === 'auto' && workers > 0) return { notNeeded: `there are ${workers} workers` };
  return {};
}

function aboutCilium(input: PlanInput): About {
  const [gateway, cilium] = (['gateway-api', 'cilium'] as const).map((addon) =>
    chartOf(input.cluster, addon, input),
  );
  if (cilium === undefined && gateway === undefined) return { notNeeded: missing('cilium') };
  const { endpoint: named, podCidrs } = input.cluster;
  const endpoint = named === undefined ? undefined : parseEndpoint(named);
  return {
    charts: [gateway, cilium].filter((chart) => chart !== undefined),
    env: {
      POD_CIDRS: podCidrs.join(' '),
      // As it is to be, not as it is now: the first node comes alone.
      SINGLE_NODE: membersOf(input).length > 1 ? '0' : '1',
      // Else the script takes the one that its kubeconfig names.
      ...(endpoint === undefined
        ? {}
        : { K8S_SERVICE_HOST: endpoint.host, K8S_SERVICE_PORT: String(endpoint.port) }),
    },
  };
}

function onlyChart(input: PlanInput, addon: KnownAddon): About {
  const chart = chartOf(input.cluster, addon, input);
  return chart === undefined ? { notNeeded: missing(addon) } : { charts: [chart] };
}

function missing(addon: KnownAddon): string {
  return `${addon} is not among the add-ons`;
}

function aboutApps(input: PlanInput): About {
  const apps = input.cluster.pipeline?.apps;
  if (apps === undefined) return { notNeeded: 'the inventory names no `pipeline.apps`' };
  const argo = chartOf(input.cluster, 'argocd', input);
  return {
    env: {
      APPS_REPOSITORY: apps.repository,
      ...(apps.path === undefined ? {} : { APPS_PATH: apps.path }),
      ...(apps.revision === undefined ? {} : { APPS_REVISION: apps.revision }),
      ...(argo?.namespace === undefined ? {} : { ARGOCD_NAMESPACE: argo.namespace }),
    },
  };
}
