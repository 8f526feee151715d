import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { Event } from '../../../server/events/kinds.ts';
import type { TransferStatus } from '../../../server/tftp/service.ts';
import { type Appliance, newSite, startAppliance } from '../../support/appliance.ts';
import { until } from '../../support/poll.ts';
import { storedEvents } from '../../support/stored.ts';
import { compare, tftpClients } from '../../support/tftp-clients.ts';
import { ScriptedClient } from '../../support/tftp-scripted.ts';
import { type Address, noise } from '../../support/tftp-server.ts';

const clients = await tftpClients();

async function applianceWithLoader(): Promise<{ appliance: Appliance; tftp: Address; loader: Buffer }> {
  const site = await newSite();
  const boot = join(site.dir, 'loaders');
  await mkdir(boot);
  const loader = noise(91_313);
  await writeFile(join(boot, 'lpxelinux.0'), loader);
  const appliance = await startAppliance({
    data: site.data,
    inventory: site.inventory,
    flags: ['--tftp-port', '0', '--boot', boot],
  });
  return { appliance, tftp: { address: '127.0.0.1', port: appliance.server.tftpPort }, loader };
}

function eventsOf(appliance: Appliance, kind: Event['kind']): Promise<Event[]> {
  return appliance.events().then((events) => events.filter((event) => event.kind === kind));
}

it('`railhead up` serves the boot folder to every client, refuses what it must, and tells of it all', async () => {
  const { appliance, tftp, loader } = await applianceWithLoader();
  for (const client of clients) {
    expect(compare(await client.get(tftp, 'lpxelinux.0'), loader), client.name).toBe('identical');
  }
  const [client] = clients;
  if (client === undefined) return;
  await client.get(tftp, 'missing.c32');
  await client.put(tftp, 'upload', 'text');
  await client.get(tftp, '../data/keys/admin-token');

  await until('everything is told', async () => (await eventsOf(appliance, 'tftp.refused')).length >= 3);
  const transfers = await eventsOf(appliance, 'tftp.transfer');
  expect(transfers.map(({ data }) => data)).toEqual(
    clients.map(() => expect.objectContaining({ file: 'lpxelinux.0', bytes: loader.length, result: 'done' })),
  );
  const refused = await eventsOf(appliance, 'tftp.refused');
  expect(refused.map(({ data }) => data)).toEqual([
    expect.objectContaining({ file: 'missing.c32', code: 1, reason: 'there is no file missing.c32' }),
    expect.objectContaining({ file: 'upload', code: 2, reason: 'this server is read-only' }),
    expect.objectContaining({ code: 2, reason: 'the name leads out of the root' }),
  ]);
  await appliance.stop();
});

it('a transfer is seen while it runs, and stopping the appliance ends it with that reason', async () => {
  const { appliance, tftp, loader } = await applianceWithLoader();
  const client = await ScriptedClient.open(tftp);
  onTestFinished(() => client.close());
  client.read('lpxelinux.0');
  client.ack(1, (await client.take()).port);
  await client.take();
  const [transfer] = await appliance.json<TransferStatus[]>('/api/v1/transfers');
  expect(transfer).toMatchObject({ file: 'lpxelinux.0', size: loader.length, bytes: 512 });
  expect(transfer?.name).toBe(`127.0.0.1:${client.port}`);
  await appliance.stop();
  const ended = (await storedEvents(appliance.site)).filter(({ kind }) => kind === 'tftp.transfer');
  expect(ended.map(({ data }) => data)).toEqual([expect.objectContaining({ result: 'stopped', bytes: 512 })]);
});
