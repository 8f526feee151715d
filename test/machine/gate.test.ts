import { expect, it, onTestFinished } from 'vitest';
import { EventLog } from '../../server/events/log.ts';
import type { Credential } from '../../server/machine/credentials.ts';
import { Gate } from '../../server/machine/gate.ts';
import { openStore } from '../../server/store/store.ts';
import { hostOf, lab } from '../inventory/make.ts';
import { tempFolder } from '../support/temp.ts';

const OFFER = {
  action: 'install',
  image: 'i',
  sizes: { kernel: 1, initrd: 1 },
  kernelArguments: [],
  wipe: false,
} as const;

/** Somebody on the same link, with another card than the host's, shows its token. */
async function strangerWith(kind: 'attempt' | 'first-boot'): Promise<unknown> {
  const store = await openStore({ dataDir: await tempFolder() });
  const events = new EventLog({ store, now: Date.now, keepCount: 100, keepDays: 1 });
  onTestFinished(async () => {
    await events.stop();
    await store.close();
  });
  const gate = new Gate({
    store,
    events,
    idleMs: () => 0,
    policy: { expiryMs: 1000, checkMac: true, refuseOtherAddress: false, hostsWithoutMacs: 'wait' },
    askerOf: (address) => ({ address, isAttached: true, mac: 'aa:bb:cc:00:00:01' }),
    isNews: () => true,
  });
  const attempt = {
    id: 'a'.repeat(64),
    host: 'n1',
    offer: { ...OFFER, kernelArguments: [] },
    stage: 'menu' as const,
    stageAt: Date.now(),
    isOpen: true,
    openedFrom: '10.0.0.66',
    isPastGate: false,
  };
  const credential: Credential = { kind, token: 't', host: hostOf(lab(), 'n1'), attempt };
  const failed = await gate.pass(credential, '10.0.0.66', 'configuration').catch((error: unknown) => error);
  await events.stop();
  expect(await events.list({ limit: 5 })).toMatchObject([{ kind: 'boot.token-refused', host: 'n1' }]);
  return failed;
}

it('refuses a stranger with the token of a boot', async () => {
  expect(await strangerWith('attempt')).toMatchObject({ code: 'RH_TOKEN_REFUSED', status: 403 });
});

it('lets a stranger with the token of a disk wait: a refusal is an endless loop for a machine with a new card', async () => {
  expect(await strangerWith('first-boot')).toMatchObject({ code: 'RH_HOST_HELD', status: 503 });
});
