import { readdirSync } from 'node:fs';
import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { processesOf } from '../../../server/pipeline/leftovers.ts';
import { openRuns } from '../../../server/store/pipeline.ts';
import { inventoryOf, type World, world, writeProgram } from '../../pipeline/make.ts';
import { until } from '../../support/poll.ts';

const OWN = (steps: string, more = '') => inventoryOf(`pipeline: {steps: ${steps}${more}}`);
const FAST = 'attempts: 2, retrySeconds: 1';

async function statesOf({ pipeline }: World): Promise<Record<string, string>> {
  const { steps } = await pipeline.status('lab');
  return Object.fromEntries(steps.map(({ name, state }) => [name, state]));
}

async function withSteps(
  inventory: ReturnType<typeof inventoryOf>,
  scripts: Record<string, string>,
  options: Partial<Parameters<typeof world>[0]> = {},
): Promise<World> {
  const made = await world({ inventory, start: false, ...options });
  for (const [name, text] of Object.entries(scripts)) writeProgram(join(made.scripts, name), text);
  await made.restart();
  return made;
}

describe('a pipeline', () => {
  it('runs its steps in order, by itself, with what they are given', async () => {
    const its = await withSteps(OWN('[one, {name: two, values: {x: 1}}]'), {
      one: 'echo "one for $RAILHEAD_CLUSTER"; ls -l "$KUBECONFIG"; env',
      two: 'cat "$RAILHEAD_VALUES"; ls -l "$RAILHEAD_VALUES"',
    });
    await its.settled();
    expect(await statesOf(its)).toEqual({ one: 'done', two: 'done' });
    const log = await its.log();
    expect(log).toContain('one for lab');
    expect(log).toContain('{"x":1}');
    expect(log.match(/-rw-------/g)).toHaveLength(2);
    expect(log).toContain('RAILHEAD_CLUSTER_UID=uid-1');
    expect(log).not.toMatch(/database-password|DATABASE_URL/);
    expect(readdirSync(join(its.data, 'pipeline-runs'))).toEqual([]);
    const kinds = (await its.events.list({ limit: 100 })).map(
      ({ kind, data }) => `${kind} ${(data as { step?: string }).step}`,
    );
    expect(kinds).toEqual([
      'pipeline.step-started one',
      'pipeline.step-done one',
      'pipeline.step-started two',
      'pipeline.step-done two',
    ]);
  });

  it('does nothing twice, and again only what is given something else', async () => {
    const its = await withSteps(OWN('[{name: one, values: {x: 1}}, two]'), {
      one: 'echo one ran',
      two: 'echo two ran',
    });
    await its.settled();
    await its.restart();
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect((await its.log()).match(/ran/g)).toHaveLength(2);
    await its.setInventory(OWN('[{name: one, values: {x: 2}}, two]'));
    await until('it ran again', async () => ((await its.log()).match(/one ran/g) ?? []).length === 2);
    await its.settled();
    expect((await its.log()).match(/two ran/g)).toHaveLength(1);
    writeProgram(join(its.scripts, 'two'), 'echo two ran, and is new');
    its.pipeline.wake();
    await until('it ran again', async () => (await its.log()).includes('is new'));
  });

  it('tries again after a failure, then has failed with the reason; retry begins anew', async () => {
    const its = await withSteps(OWN(`[{name: one, ${FAST}}, two]`), {
      one: '[ -e $TMPDIR/../../good ] || { echo no luck >&2; exit 3; }',
      two: 'echo two ran',
    });
    await its.settled('failed');
    expect(await statesOf(its)).toEqual({ one: 'failed', two: 'pending' });
    const { summary } = await its.pipeline.status('lab');
    expect(summary).toBe('one failed: exit 3: no luck');
    const failures = await its.events.list({ kind: 'pipeline.step-failed', limit: 10 });
    expect(failures.map(({ data }) => data)).toMatchObject([
      { attempt: 1, retryInSeconds: 1 },
      { attempt: 2 },
    ]);
    await writeFile(join(its.data, 'good'), '');
    await its.pipeline.order('lab', 'retry', undefined);
    await its.settled();
    expect(await statesOf(its)).toEqual({ one: 'done', two: 'done' });
  });

  it('ends a step that takes too long, and everything that it has started', async () => {
    const its = await withSteps(OWN('[{name: one, timeoutSeconds: 5, attempts: 1}]'), {
      one: 'trap "" TERM; sleep 300 & setsid sleep 300 & echo waiting; wait; sleep 300',
    });
    await its.settled('failed');
    const [run] = await its.store.db.selectFrom('pipeline_runs').select(['run', 'reason']).execute();
    expect(run?.reason).toMatch(/longer than 5 s.*waiting/);
    expect(await processesOf(run!.run)).toEqual([]);
  });

  it('stops its step when it is stopped, and goes on with it at the next start', async () => {
    const its = await withSteps(OWN('[one, two]'), {
      one: 'echo one ran',
      two: '[ "$RAILHEAD_RESUMED" = 1 ] && { echo resumed; exit 0; }; echo two waits; sleep 300',
    });
    await until('two runs', async () => (await its.log()).includes('two waits'));
    await its.pipeline.stop();
    expect(await statesOf(its)).toMatchObject({ one: 'done' });
    await its.restart();
    await its.settled();
    const log = await its.log();
    expect(log.match(/one ran/g)).toHaveLength(1);
    expect(log).toContain('resumed');
    expect(await openRuns(its.store.db)).toEqual([]);
  });

  it('goes on without a person only when it may', async () => {
    const its = await withSteps(OWN('[one, two]', ', auto: false'), {
      one: 'echo one ran',
      two: 'echo two ran',
    });
    await its.settled('resting');
    expect(await its.log()).toBe('');
    await expect(its.pipeline.order('lab', 'run', 'two')).rejects.toThrow(/one comes first/);
    await its.pipeline.order('lab', 'run', 'one');
    await until('one is done', async () => (await statesOf(its)).one === 'done');
    await its.settled('resting');
    await its.pipeline.order('lab', 'run', undefined);
    await its.settled();
    expect((await its.log()).match(/ran/g)).toHaveLength(2);
  });

  it('skips what it is told to, also what runs', async () => {
    const its = await withSteps(OWN('[one, two]'), { one: 'echo waits; sleep 300', two: 'echo two ran' });
    await until('one runs', async () => (await its.log()).includes('waits'));
    await its.pipeline.order('lab', 'skip', 'one');
    await its.settled();
    expect(await statesOf(its)).toEqual({ one: 'skipped', two: 'done' });
    expect(await openRuns(its.store.db)).toEqual([]);
  });

  it('waits for the cluster, and says for what', async () => {
    const its = await world({ inventory: OWN('[{name: one, when: api}, two]'), start: false });
    for (const name of ['one', 'two']) writeProgram(join(its.scripts, name), 'echo ran');
    const summary = async () => (await its.pipeline.status('lab')).summary;
    its.observation = 'unknown';
    await its.restart();
    await its.settled('waiting');
    await until('it says so', async () =>
      /one waits: the Kubernetes API can not be asked/.test(await summary()),
    );
    its.observation = { apiReady: true, nodesReady: 1, schedulable: 0 };
    await until('one is done', async () => (await statesOf(its)).one === 'done');
    await until('two waits', async () => (await statesOf(its)).two === 'waiting');
    expect(await summary()).toMatch(/two waits: no node is Ready and takes pods \(1 Ready\)/);
    its.observation = { apiReady: true, nodesReady: 1, schedulable: 1 };
    await its.settled();
  });
});

describe('secrets', () => {
  it('reach a step in a file, and nobody else', async () => {
    const secret = 'correct-horse-battery';
    const values = '{password: {fromEnv: PASS}, nested: [{key: {fromFile: key.pem}}]}';
    const its = await world({
      inventory: OWN(`[{name: one, values: ${values}}]`),
      env: { PASS: secret },
      start: false,
    });
    const key =
      '-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49\nAwEHBG0wawIBAQQg\n-----END PRIVATE KEY-----\n';
    await writeFile(join(its.inventoryDir, 'key.pem'), key);
    writeProgram(
      join(its.scripts, 'one'),
      `cat "$RAILHEAD_VALUES" | tr , '\\n'; cat ${its.inventoryDir}/key.pem; printf %s ${secret} | base64; printf 'token-of-the-'; sleep 0.3; echo kubeconfig; env; cat /proc/self/cmdline; exit 1`,
    );
    await its.restart();
    await until('it failed once', async () => (await its.log()).includes('exit 1'));
    const said = `${await its.log()} ${JSON.stringify(await its.pipeline.status('lab'))} ${JSON.stringify(await its.events.list({ limit: 100 }))} ${JSON.stringify(await its.store.db.selectFrom('pipeline_steps').selectAll().execute())}`;
    for (const word of [
      secret,
      Buffer.from(secret).toString('base64'),
      'MIGHAgEAMBMG',
      'AwEHBG0wawIBAQQg',
      'token-of-the-kubeconfig',
    ]) {
      expect(said).not.toContain(word);
    }
    expect(said).toContain('<hidden>');
  });

  it('that are not there keep a step from beginning', async () => {
    const its = await withSteps(OWN('[{name: one, values: {password: {fromEnv: NOT_THERE}}}]'), {
      one: 'echo ran',
    });
    await its.settled('waiting');
    expect((await its.pipeline.status('lab')).summary).toContain('The environment has no variable NOT_THERE');
    expect(await its.log()).toBe('');
  });
});

describe('what is refused, before anything is done', () => {
  it('a step that is not there', async () => {
    const its = await world({ inventory: OWN('[untaint, instal-core]') });
    await its.settled('refused');
    const { summary } = await its.pipeline.status('lab');
    expect(summary).toMatch(/there is no step "instal-core" in .*did you mean "install-core"\?/);
    await expect(its.pipeline.order('lab', 'run', undefined)).rejects.toThrow(/instal-core/);
    const stuck = () => its.events.list({ kind: 'pipeline.stuck', limit: 10 });
    await until('it is told, once', async () => (await stuck()).length === 1);
  });

  it('a step that is not executable', async () => {
    const its = await withSteps(OWN('[one, two]'), { one: 'echo ran', two: 'echo ran' });
    await its.settled();
    await chmod(join(its.scripts, 'two'), 0o644);
    its.pipeline.wake();
    await its.settled('refused');
    expect((await its.pipeline.status('lab')).summary).toMatch(/two is not executable: chmod \+x/);
  });

  it('a cluster that is another than the one before', async () => {
    const its = await withSteps(OWN('[{name: one, values: {x: 1}}]'), { one: 'echo ran' });
    await its.settled();
    its.uid = 'uid-2';
    await its.setInventory(OWN('[{name: one, values: {x: 2}}]'));
    await its.settled('failed');
    expect((await its.pipeline.status('lab')).summary).toMatch(/leads to another cluster: its id is uid-2/);
    expect((await its.log()).match(/ran/g)).toHaveLength(1);
    await its.pipeline.order('lab', 'anew', undefined);
    await its.settled();
    expect((await its.log()).match(/ran/g)).toHaveLength(2);
  });

  it('nothing of a cluster that is begun anew: all is done to the new one', async () => {
    const its = await withSteps(OWN('[one]'), { one: 'echo ran' });
    await its.settled();
    its.uid = 'uid-2';
    await its.events.append({ kind: 'cluster.reinit', data: { cluster: 'lab', newSecrets: true } });
    await until('it ran again', async () => ((await its.log()).match(/ran/g) ?? []).length === 2);
    await its.settled();
  });

  it('a kubeconfig that is none', async () => {
    const its = await world({ inventory: OWN('[one]'), start: false });
    its.kubeconfig = 'clusters: []\n';
    writeProgram(join(its.scripts, 'one'), 'echo ran');
    await its.restart();
    await its.settled('failed');
    expect((await its.pipeline.status('lab')).summary).toMatch(/no current context/);
    expect(await its.log()).toBe('');
  });

  it('an order for a step or a cluster that is not there', async () => {
    const its = await world({ inventory: OWN('[untaint]') });
    await expect(its.pipeline.order('lab', 'run', 'untain')).rejects.toThrow(/did you mean "untaint"/);
    await expect(its.pipeline.order('lap', 'run', undefined)).rejects.toThrow(/did you mean "lab"/);
    await expect(its.pipeline.order('lab', 'retry', undefined)).rejects.toThrow(/Nothing has failed/);
  });
});

it('keeps the end of a log that is too long, and says so', async () => {
  const its = await withSteps(OWN('[one]'), {
    one: 'i=0; while [ $i -lt 20 ]; do i=$((i+1)); head -c 30000 /dev/zero | tr "\\0" x; echo " line $i"; sleep 0.02; done',
  });
  await its.settled();
  const log = await its.log();
  expect(log.length).toBeLessThan(300 * 1024);
  expect(log).toContain('line 20');
  expect(log).toMatch(/\[the first \d+ KB of this log were not kept\]/);
});

it('runs the built-in script by its own name, with a folder of its own scripts beside', async () => {
  const its = await world({ inventory: inventoryOf('pipeline: {untaint: always}') });
  await until('untaint is done', async () => (await statesOf(its)).untaint === 'done');
  expect(await its.log()).toMatch(/0 nodes, none of them with a control-plane taint/);
});
