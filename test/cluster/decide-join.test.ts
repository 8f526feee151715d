import { describe, expect, it } from 'vitest';
import { decideJoin, type JoinInput } from '../../server/cluster/decide-join.ts';

const host = { name: 'c1', role: 'control-plane', member: true, cluster: 'lab' } as const;
const worker = { ...host, name: 'w1', role: 'worker' } as const;
const base: JoinInput = {
  host,
  joinedAt: undefined,
  claim: undefined,
  api: { everSeen: false, isUp: false, reason: '' },
  ownJoin: undefined,
  otherControlPlane: undefined,
};
const up = { everSeen: true, isUp: true, reason: '' };
const down = { everSeen: true, isUp: false, reason: 'no answer (ECONNREFUSED)' };
const byC1 = { host: 'c1', done: false, answers: 1 };
const done = { ...byC1, done: true };
const until = Date.UTC(2026, 0, 1, 12, 34);

const table: [what: string, input: Partial<JoinInput>, expected: object][] = [
  ['a host without a cluster', { host: { ...host, cluster: undefined as never } }, { action: 'none' }],
  ['a host beyond the replicas of its pool', { host: { ...host, member: false } }, { action: 'none' }],
  ['a member', { joinedAt: 1 }, { action: 'none' }],
  ['the one that began, once it is a member', { joinedAt: 1, claim: done, api: up }, { action: 'none' }],
  ['the first control-plane host', {}, { action: 'init', before: 'nothing' }],
  [
    'a worker before all',
    { host: worker },
    { action: 'wait', for: expect.stringContaining('first control-plane') },
  ],
  [
    'a claim whose answer never went out',
    { claim: { ...byC1, answers: 0 } },
    { action: 'init', before: 'nothing' },
  ],
  ['the same host again, the API never seen', { claim: byC1 }, { action: 'init', before: 'reset' }],
  [
    'the same host again, the API seen: nothing is thrown away',
    { claim: byC1, api: up },
    { action: 'init', before: 'resume' },
  ],
  [
    'the same host again, the API seen and gone',
    { claim: byC1, api: down },
    { action: 'init', before: 'resume' },
  ],
  [
    'another control-plane host meanwhile',
    { host: { ...host, name: 'c2' }, claim: byC1 },
    { action: 'wait', for: expect.stringContaining('c1 is setting up') },
  ],
  [
    'a worker meanwhile',
    { host: worker, claim: byC1 },
    { action: 'wait', for: expect.stringContaining('c1 is setting up') },
  ],
  [
    'a worker while the API answers, though init is not done',
    { host: worker, claim: byC1, api: up },
    { action: 'join', before: 'nothing' },
  ],
  [
    'a worker while the API is away',
    { host: worker, claim: done, api: down },
    { action: 'wait', for: expect.stringContaining("doesn't answer now (no answer (ECONNREFUSED))") },
  ],
  [
    'the first host, installed anew, while the API is away',
    { claim: done, api: down },
    { action: 'wait', for: expect.stringContaining('cluster reinit lab --yes') },
  ],
  [
    'the first host, installed anew, while others keep the API up',
    { claim: done, api: up },
    { action: 'join', before: 'nothing' },
  ],
  ['a worker', { host: worker, claim: done, api: up }, { action: 'join', before: 'nothing' }],
  [
    'a worker again',
    { host: worker, claim: done, api: up, ownJoin: { answers: 1 } },
    { action: 'join', before: 'reset' },
  ],
  [
    'a control-plane host while another joins',
    { host: { ...host, name: 'c3' }, claim: done, api: up, otherControlPlane: { host: 'c2', until } },
    { action: 'wait', for: expect.stringMatching(/^c2 to join.*12:34 UTC/) },
  ],
  [
    'a worker while a control-plane host joins',
    { host: worker, claim: done, api: up, otherControlPlane: { host: 'c2', until } },
    { action: 'join', before: 'nothing' },
  ],
];

describe('what a host does about kubeadm', () => {
  it.each(table)('%s', (_what, input, expected) => {
    expect(decideJoin({ ...base, ...input })).toMatchObject(expected);
  });
});
