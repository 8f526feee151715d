import { createHash } from 'node:crypto';
import { expect, it, onTestFinished } from 'vitest';
import { Vault } from '../../server/access/vault.ts';
import { EventLog } from '../../server/events/log.ts';
import { ConfigDelivery, type DeliveryRequest, type RenderedConfig } from '../../server/ignition/delivery.ts';
import { openStore } from '../../server/store/store.ts';
import { hostOf, lab } from '../inventory/make.ts';
import { tempFolder } from '../support/temp.ts';

const HOST = hostOf(lab(), 'n1');
const OTHER = hostOf(lab('{name: n2, pool: workers, macs: [52:54:00:12:34:02]}'), 'n2');
const request = (attempt: string, host = HOST): DeliveryRequest => ({
  host,
  attempt,
  purpose: 'system',
  token: 'a token',
  wipe: false,
});
const hashOf = (bytes: Buffer) => `sha512-${createHash('sha512').update(bytes).digest('hex')}`;

/** One process after another over one data folder. */
async function world() {
  const dataDir = await tempFolder();
  let count = 0;
  const makes: { answer: () => RenderedConfig } = {
    answer: () => ({ bytes: Buffer.from(`made ${++count}`) }),
  };
  const process = async (key = Buffer.alloc(32, 7)) => {
    const store = await openStore({ dataDir });
    const events = new EventLog({ store, now: Date.now, keepCount: 1000, keepDays: 1 });
    let isOpen = true;
    const end = async () => {
      if (!isOpen) return;
      isOpen = false;
      await events.stop();
      await store.close();
    };
    onTestFinished(end);
    const vault = new Vault(key);
    const delivery = new ConfigDelivery({
      store,
      events,
      now: Date.now,
      isNews: () => true,
      seal: (content, about) => vault.seal(content, about),
      unseal: (sealed, about) => vault.unseal(sealed, about),
      render: async () => makes.answer(),
    });
    return { delivery, events, store, end };
  };
  return { process, makes };
}

it('the process ends between pointer and configuration: the next one gives the same bytes', async () => {
  const { process } = await world();
  const first = await process();
  const hash = await first.delivery.freeze(request('a1'));
  await first.end();
  const second = await process();
  const bytes = await second.delivery.frozen(request('a1'));
  expect(bytes.toString()).toBe('made 1');
  expect(hashOf(bytes)).toBe(hash);
  expect(await second.delivery.freeze(request('a1'))).toBe(hash);
});

it('each boot has its own; without a promise it is made anew', async () => {
  const { delivery } = await (await world()).process();
  await delivery.freeze(request('a1'));
  expect((await delivery.frozen(request('a2', OTHER))).toString()).toBe('made 2');
  expect((await delivery.frozen(request('a1'))).toString()).toBe('made 1');
  expect((await delivery.current(request('a1'))).toString()).toBe('made 3');
});

it('two pointers at once promise the same', async () => {
  const { delivery } = await (await world()).process();
  const hashes = await Promise.all(Array.from({ length: 5 }, () => delivery.freeze(request('a1'))));
  expect(new Set(hashes).size).toBe(1);
  expect(hashOf(await delivery.frozen(request('a1')))).toBe(hashes[0]);
});

it('with the key of another keys folder nothing is given out', async () => {
  const { process } = await world();
  const first = await process();
  await first.delivery.freeze(request('a1'));
  await first.end();
  const { delivery } = await process(Buffer.alloc(32, 8));
  await expect(delivery.frozen(request('a1'))).rejects.toMatchObject({ code: 'RH_VAULT_KEY', status: 503 });
});

it('what was sealed for one boot can not be passed off as that of another', async () => {
  const { delivery, store } = await (await world()).process();
  await delivery.freeze(request('a1'));
  await store.db.updateTable('frozen_configs').set({ attempt: 'a2' }).execute();
  await expect(delivery.frozen(request('a2'))).rejects.toMatchObject({ code: 'RH_VAULT_KEY' });
});

it('what can not be made is no promise, an event with the reasons, and made as soon as it can be', async () => {
  const { process, makes } = await world();
  const { delivery, events } = await process();
  const { answer } = makes;
  makes.answer = () => ({ problems: ['base.bu:3:1: error: no'] });
  expect(await delivery.freeze(request('a1'))).toBeUndefined();
  await expect(delivery.frozen(request('a1'))).rejects.toMatchObject({
    code: 'RH_CONFIG_UNAVAILABLE',
    status: 503,
  });
  expect(await events.list({ kind: 'ignition.failed', limit: 1 })).toMatchObject([
    { host: 'n1', data: { problems: ['base.bu:3:1: error: no'] } },
  ]);
  makes.answer = answer;
  expect((await delivery.frozen(request('a1'))).toString()).toBe('made 1');
});
