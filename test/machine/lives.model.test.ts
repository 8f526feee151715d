import fc from 'fast-check';
import { expect, it } from 'vitest';
import { idOf } from '../../server/machine/attempts.ts';
import { candidatesOf, findMachineBySecret, liveMachine, openWindow } from '../../server/store/machines.ts';
import { openStore, type Store } from '../../server/store/store.ts';
import { tempFolder } from '../support/temp.ts';
import { HOSTS, newSecret, type PhysicalMachine, Site } from './lives.ts';

/**
 * Lives of hosts in random orders: machines boot, register and join, operators make requests, unknown clients get in
 * between, the server restarts and its clock is set. A small model says what must hold.
 */
type Step =
  | {
      do: 'power-on' | 'register' | 'ask-for-secrets' | 'join' | 'heartbeat' | 'announce-reboot';
      machine: number;
    }
  | { do: 'hold' | 'release' | 'reinstall' | 'trust' | 'keep'; host: number }
  | { do: 'restart' | 'swap-disks' }
  | { do: 'wait' | 'set-clock'; seconds: number };

const onMachine = (...names: Extract<Step, { machine: number }>['do'][]) =>
  fc.record({ do: fc.constantFrom(...names), machine: fc.nat({ max: 5 }) });
const STEP: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: onMachine('power-on', 'register') },
  { weight: 4, arbitrary: onMachine('ask-for-secrets', 'join', 'heartbeat', 'announce-reboot') },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('hold', 'release', 'reinstall', 'trust', 'keep'),
      host: fc.nat({ max: 2 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constantFrom('restart', 'swap-disks') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('wait'), seconds: fc.constantFrom(1, 20, 40, 600) }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('set-clock'),
      seconds: fc.constantFrom(7_200, -7_200, 31_536_000, -31_536_000),
    }),
  },
);

/** `RAILHEAD_MODEL_RUNS=5000` looks further. */
const RUNS = Number(process.env.RAILHEAD_MODEL_RUNS ?? 60);

/** What must be so of a host, as an outsider sees it. */
interface Expected {
  /** The secret of its identity, and the generation. */
  secret: string | undefined;
  generation: number;
  /** The secret that the open window serves; 'anyone' before one has registered in it, undefined when it is closed. */
  window: string | 'anyone' | undefined;
}

it('a host has one identity, a window serves one identity, and unknown clients change nothing', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { maxLength: 60, size: 'max' }), async (steps) => {
      const store = await openStore({ dataDir: await tempFolder() });
      try {
        await live(store, steps);
      } finally {
        await store.close();
      }
    }),
    { numRuns: RUNS },
  );
});

async function live(store: Store, steps: readonly Step[]): Promise<void> {
  const site = await Site.on(store, await tempFolder());
  const machines = [false, true].flatMap((isImpostor, kind) =>
    HOSTS.map(
      (host, index): PhysicalMachine => ({
        host,
        isImpostor,
        address: `10.0.${kind}.${index + 1}`,
        uuid: `4c4c4544-0042-3510-8052-b4c04f38${kind}00${index}`,
        secret: newSecret(),
        bootId: '',
      }),
    ),
  );
  const model = new Map<string, Expected>(
    HOSTS.map((host) => [host, { secret: undefined, generation: 0, window: undefined }]),
  );
  for (const step of steps) {
    await take(site, store, machines, model, step);
    await check(site, store, machines, model);
  }
  await site.events.stop();
}

async function take(
  site: Site,
  store: Store,
  machines: PhysicalMachine[],
  model: Map<string, Expected>,
  step: Step,
): Promise<void> {
  switch (step.do) {
    case 'power-on': {
      const machine = machines[step.machine]!;
      const host = model.get(machine.host)!;
      await site.powerOn(machine);
      // A host without an identity boots: a window opens for whichever machine registers first.
      if (machine.bootToken !== undefined && host.secret === undefined) host.window ??= 'anyone';
      return;
    }
    case 'register':
      return register(site, store, machines[step.machine]!, model);
    case 'ask-for-secrets': {
      const machine = machines[step.machine]!;
      if (!(await site.asksForSecrets(machine))) return;
      const { host, secret } = machine.registeredAs!;
      const { generation: _, ...served } = model.get(host)!;
      expect(served, 'an open window serves its identity').toEqual({ secret, window: secret });
      return;
    }
    case 'join': {
      const machine = machines[step.machine]!;
      const isKnown = await site.isKnown(machine);
      await site.reportsJoined(machine);
      if (!isKnown) return;
      const { host } = machine.registeredAs!;
      // Its report counts only in the boot that it registered in.
      if ((await openWindow(store.db, host)) === undefined) model.get(host)!.window = undefined;
      return;
    }
    case 'heartbeat':
      return site.heartbeat(machines[step.machine]!, false);
    case 'announce-reboot':
      return site.heartbeat(machines[step.machine]!, true);
    case 'hold':
      return site.request(HOSTS[step.host]!, { order: 'hold', reason: 'a test' });
    case 'release':
      return site.request(HOSTS[step.host]!, { order: 'release' });
    case 'reinstall':
      await site.request(HOSTS[step.host]!, { order: 'reinstall' });
      model.get(HOSTS[step.host]!)!.window = 'anyone';
      return;
    case 'trust': {
      const host = HOSTS[step.host]!;
      const [candidate] = await candidatesOf(store.db, host);
      const trusted = machines.find(({ secret }) => idOf(secret) === candidate?.secret);
      if (candidate === undefined || trusted === undefined) return;
      const owner = HOSTS.find((name) => model.get(name)!.secret === trusted.secret);
      const deciding = site.machines.trust(site.hostOf(host), candidate.id);
      if (owner !== undefined && owner !== host) {
        await expect(deciding).rejects.toMatchObject({ code: 'RH_REQUEST_INVALID' });
        return;
      }
      const { generation } = await deciding;
      const expected = model.get(host)!;
      // A disk in another machine: an operator has decided that this machine is the host.
      trusted.host = host;
      if (owner === undefined) {
        expect(generation).toBe(expected.generation + 1);
        Object.assign(expected, { secret: trusted.secret, generation, window: trusted.secret });
      }
      return;
    }
    case 'keep':
      await site.machines.keep(site.hostOf(HOSTS[step.host]!));
      expect(await candidatesOf(store.db, HOSTS[step.host]!)).toEqual([]);
      return;
    case 'swap-disks': {
      const [first, , second] = machines as [PhysicalMachine, PhysicalMachine, PhysicalMachine];
      [first.secret, second.secret] = [second.secret, first.secret];
      return;
    }
    case 'restart':
      await site.events.stop();
      site.restart();
      return;
    case 'wait':
      site.wall += step.seconds * 1000;
      site.steady += step.seconds * 1000;
      return;
    case 'set-clock':
      site.wall += step.seconds * 1000;
  }
}

async function register(
  site: Site,
  store: Store,
  machine: PhysicalMachine,
  model: Map<string, Expected>,
): Promise<void> {
  const { host: name, secret } = machine;
  const before = model.get(name)!;
  const window = await openWindow(store.db, name);
  const isWelcome =
    before.window === 'anyone' && (await site.hasLiveBoot(machine)) && !(await isOld(store, secret));
  const result = await site.register(machine);
  const owner = HOSTS.find((host) => model.get(host)!.secret === secret);
  if (typeof result !== 'object') {
    // A machine is never locked out by its own doing.
    expect(owner, 'the identity of a host is always known').not.toBe(name);
    expect(isWelcome, 'an open window takes the first machine').toBe(false);
    return;
  }
  expect(result.host, 'a machine is the host that it booted as').toBe(name);
  if (owner === name) {
    expect(result.generation, 'a boot never makes a new generation').toBe(before.generation);
    return;
  }
  const isDiskless = site.hostOf(name).identity === 'boot';
  if (result.generation === before.generation) {
    expect(isDiskless && owner === undefined, 'only a diskless boot brings another secret').toBe(true);
    Object.assign(before, { secret, window: secret });
    return;
  }
  expect(owner, 'nobody becomes two hosts').toBeUndefined();
  expect(before.window, 'only an open window makes an identity').toBe('anyone');
  expect(window?.machine ?? null).toBeNull();
  expect(result.generation).toBe(before.generation + 1);
  Object.assign(before, { secret, generation: result.generation, window: secret });
}

/** Whether an identity has ever had this secret. */
async function isOld({ db }: Store, secret: string): Promise<boolean> {
  return (await findMachineBySecret(db, idOf(secret))) !== undefined;
}

async function check(
  site: Site,
  store: Store,
  machines: readonly PhysicalMachine[],
  model: ReadonlyMap<string, Expected>,
): Promise<void> {
  for (const [host, { secret, generation }] of model) {
    const machine = await liveMachine(store.db, host);
    expect(machine?.secret, `the identity of ${host}`).toBe(secret === undefined ? undefined : idOf(secret));
    if (machine !== undefined) expect(machine.generation).toBe(generation);
    expect((await candidatesOf(store.db, host)).length).toBeLessThanOrEqual(4);
  }
  for (const machine of machines) {
    if (machine.token === undefined || machine.registeredAs === undefined) continue;
    const { host, secret } = machine.registeredAs;
    const isIdentity = model.get(host)!.secret === secret;
    expect(await site.isKnown(machine), `the token of ${machine.address}`).toBe(isIdentity);
  }
}
