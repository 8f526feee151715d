import { expect, it } from 'vitest';
import { decideRegistration, type RegistrationFacts } from '../../server/machine/decide-registration.ts';

const UUID = '11111111-2222-3333-4444-555555555555';
const owner = { host: 'n1', generation: 2, isLive: true, hardware: { uuid: UUID } };
const running = { generation: 2, hardware: { uuid: UUID }, silentMs: 1_000, isRebooting: false };
const fresh = { reason: 'first boot', isUsed: false } as const;

const FACTS: RegistrationFacts = {
  host: { name: 'n1', identity: 'kept' },
  hasBootToken: true,
  hardware: { uuid: UUID },
  owner: undefined,
  current: undefined,
  window: undefined,
  newHosts: 'accept',
  silenceMs: 30_000,
};

it.each<[string, Partial<RegistrationFacts>, string]>([
  ['a new host with an open window', { window: fresh }, 'new-identity'],
  ['a new host when an operator is to be asked', { window: fresh, newHosts: 'ask' }, 'candidate: it is new'],
  [
    'a reinstall, also when an operator is to be asked',
    { window: { reason: 'reinstall', isUsed: false }, current: running, newHosts: 'ask' },
    'new-identity',
  ],
  ['no window', { current: running }, 'candidate: n1 is another machine (generation 2)'],
  [
    'a window that another identity has used',
    { window: { reason: 'first boot', isUsed: true }, current: running },
    'candidate: n1 is another machine',
  ],
  ['no token and an unknown secret', { hasBootToken: false, window: fresh }, 'unauthenticated'],
  ['a known secret', { owner, current: running }, 'known'],
  ['a known secret without a token', { owner, current: running, hasBootToken: false }, 'known'],
  [
    'a known secret while a window is open',
    { owner, current: running, window: { reason: 'reinstall', isUsed: false } },
    'known',
  ],
  ['a known secret on hardware that says nothing', { owner, current: running, hardware: {} }, 'known'],
  [
    'a known secret on other hardware',
    { owner, current: running, hardware: { uuid: 'other' } },
    'candidate: it has the secret of n1, but its UUID is other',
  ],
  [
    'the secret of another host',
    { owner: { ...owner, host: 'n2' }, window: fresh },
    'candidate: it has the secret of n2 (generation 2)',
  ],
  [
    'the secret of an earlier generation',
    { owner: { ...owner, generation: 1, isLive: false }, current: running, window: fresh },
    'candidate: it was n1 in generation 1',
  ],
  [
    'the partition of another host',
    { partition: { host: 'n2', generation: 4 }, window: fresh },
    'candidate: its data partition is that of n2 (generation 4)',
  ],
  [
    'the partition of another host with a known secret',
    { partition: { host: 'n2', generation: 4 }, owner, current: running },
    'candidate: its data partition is that of n2',
  ],
  ['its own partition', { partition: { host: 'n1', generation: 2 }, owner, current: running }, 'known'],
])('%s: %#', (_what, facts, expected) => {
  expect(told(facts)).toContain(expected);
});

it.each<[string, Partial<RegistrationFacts>, string]>([
  ['the first boot', { window: fresh }, 'new-identity'],
  [
    'a boot while the former one is heard of',
    { current: running },
    'candidate: the former boot of n1 was heard of 1 s ago',
  ],
  ['a boot after the former one fell silent', { current: { ...running, silentMs: 30_000 } }, 'new-boot'],
  [
    'a boot after the former one announced its reboot',
    { current: { ...running, isRebooting: true } },
    'new-boot',
  ],
  [
    'a boot on other hardware',
    { current: { ...running, isRebooting: true }, hardware: { uuid: 'other' } },
    'candidate: n1 is another machine: its UUID is other',
  ],
  [
    'a boot without a token',
    { current: { ...running, isRebooting: true }, hasBootToken: false },
    'unauthenticated',
  ],
  [
    'a boot after a reinstall was requested',
    { current: running, window: { reason: 'reinstall', isUsed: false } },
    'new-identity',
  ],
])('with identity: boot, %s', (_what, facts, expected) => {
  expect(told({ host: { name: 'n1', identity: 'boot' }, ...facts })).toContain(expected);
});

it('a diskless boot that comes too early raises no alarm: it will be accepted by itself', () => {
  const decision = decideRegistration({ ...FACTS, host: { name: 'n1', identity: 'boot' }, current: running });
  expect(decision).toMatchObject({ action: 'candidate', alarms: false });
});

function told(facts: Partial<RegistrationFacts>): string {
  const decision = decideRegistration({ ...FACTS, ...facts });
  return decision.action === 'candidate' ? `candidate: ${decision.reason}` : decision.action;
}
