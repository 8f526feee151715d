import type { HostSpec } from '../inventory/model.ts';

/** Everything that the answer to "what shall I do about kubeadm?" depends on. */
export interface JoinInput {
  host: Pick<HostSpec, 'name' | 'role' | 'member' | 'cluster'>;
  /** Since when it is a member of its cluster, as it said or as the API shows. */
  joinedAt: number | undefined;
  /** Who may run `kubeadm init`, if anybody has asked yet. */
  claim: { host: string; done: boolean; answers: number } | undefined;
  /** Whether the API has ever answered, whether it does now, and why not. */
  api: { everSeen: boolean; isUp: boolean; reason: string };
  /** Its own turn to join, and that of another control-plane host, as long as they last. */
  ownJoin: { answers: number } | undefined;
  otherControlPlane: { host: string; until: number } | undefined;
}

/**
 * `before`: whether it was told so before, and what to do with what that has left.
 * `reset` throws it away, `resume` goes on from there.
 */
export type JoinDecision =
  | { action: 'init'; before: 'nothing' | 'reset' | 'resume' }
  | { action: 'join'; before: 'nothing' | 'reset' }
  | { action: 'none'; why: string }
  | { action: 'wait'; for: string };

/**
 * THE answer to "what does this host do about kubeadm now?". Pure. One host begins, for ever; the others join once the
 * API answers, control-plane hosts one after another.
 */
export function decideJoin({
  host,
  joinedAt,
  claim,
  api,
  ownJoin,
  otherControlPlane,
}: JoinInput): JoinDecision {
  const { name, role, cluster } = host;
  if (cluster === undefined || !host.member)
    return { action: 'none', why: 'it is to be no member of a cluster' };
  if (joinedAt !== undefined) return { action: 'none', why: 'it is a member already' };

  const isControlPlane = role === 'control-plane';
  if (claim === undefined) {
    if (isControlPlane) return { action: 'init', before: 'nothing' };
    return { action: 'wait', for: `the first control-plane host of ${cluster} to begin` };
  }
  const isFirst = claim.host === name;
  if (isFirst && !claim.done) {
    // An API that has answered may have been given something to keep: nothing is thrown away by itself then.
    if (api.everSeen) return { action: 'init', before: 'resume' };
    return { action: 'init', before: claim.answers === 0 ? 'nothing' : 'reset' };
  }
  if (!api.everSeen)
    return { action: 'wait', for: `the API of ${cluster}, which ${claim.host} is setting up` };
  if (!api.isUp) {
    const lost = isFirst ? `; if it is lost for good: \`railhead cluster reinit ${cluster} --yes\`` : '';
    const why = api.reason === '' ? '' : ` (${api.reason})`;
    return { action: 'wait', for: `the API of ${cluster}, which doesn't answer now${why}${lost}` };
  }
  if (isControlPlane && otherControlPlane !== undefined) {
    const until = new Date(otherControlPlane.until).toISOString().slice(11, 16);
    return {
      action: 'wait',
      for: `${otherControlPlane.host} to join: control-plane hosts do so one at a time (its turn ends at ${until} UTC)`,
    };
  }
  return { action: 'join', before: (ownJoin?.answers ?? 0) === 0 ? 'nothing' : 'reset' };
}
