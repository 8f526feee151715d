import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pino from 'pino';
import { expect, it, onTestFinished } from 'vitest';
import { buildHttpApp } from '../../server/http/app.ts';
import { InventoryIndex } from '../../server/inventory/index.ts';
import type { InventoryKeeper } from '../../server/inventory/keeper.ts';
import { inventoryOf, type World, world, writeProgram } from '../pipeline/make.ts';
import { httpContext, TOKEN } from '../support/http-context.ts';
import { until } from '../support/poll.ts';
import { tempFolder } from '../support/temp.ts';

const ADMIN = { host: '127.0.0.1', authorization: `Bearer ${TOKEN}` };

async function serve(script: string) {
  const inventory = inventoryOf('pipeline: {steps: [{name: one, attempts: 1}]}');
  const its: World = await world({ inventory, start: false });
  writeProgram(join(its.scripts, 'one'), script);
  await its.restart();
  const context = await httpContext();
  const keeper = { ...context.inventory, index: new InventoryIndex(inventory) } as unknown as InventoryKeeper;
  const app = buildHttpApp({
    context: { ...context, inventory: keeper, pipeline: its.pipeline },
    logger: pino({ level: 'silent' }),
  });
  onTestFinished(() => app.close());
  return { its, app };
}

it('shows the steps and the log of a cluster on a page, with nothing in it that would run', async () => {
  const { its, app } = await serve('echo "<script>alert(1)</script> said"');
  await its.settled();
  const { body, headers } = await app.inject('/clusters/lab');
  expect(headers['content-security-policy']).toContain("default-src 'self'");
  expect(body).toContain('&lt;script&gt;alert(1)&lt;/script&gt; said');
  expect(body).toMatch(/<code>one<\/code>.*done/);
  expect(body).toMatch(/data-stream="\/api\/v1\/clusters\/lab\/pipeline\/logs\/stream\?after&#x3D;\d+"/);
  expect((await app.inject('/clusters/lap')).json()).toMatchObject({
    error: { code: 'RH_CLUSTER_UNKNOWN', message: expect.stringContaining('did you mean "lab"?') },
  });
});

it('streams the log as it grows, from where the reader was', async () => {
  const folder = await tempFolder();
  // Each word waits until the one before has been read, so that each comes on its own.
  const after = (word: string) => `until [ -e ${folder}/${word} ]; do sleep 0.05; done`;
  const { its, app } = await serve(
    `echo first; ${after('first')}; echo second; ${after('second')}; echo third`,
  );
  const address = await app.listen({ host: '127.0.0.1', port: 0 });
  const read = async (from: number, last: string): Promise<string> => {
    const abort = new AbortController();
    const url = `${address}/api/v1/clusters/lab/pipeline/logs/stream?after=${from}`;
    const response = await fetch(url, { signal: abort.signal });
    let text = '';
    for await (const chunk of response.body!) {
      text += Buffer.from(chunk).toString();
      for (const [word] of text.matchAll(/first|second/g)) await writeFile(join(folder, word), '');
      if (text.includes(last)) break;
    }
    abort.abort();
    return text;
  };
  const text = await read(0, 'third');
  expect(text.match(/first|second|third/g)).toEqual(['first', 'second', 'third']);
  await its.settled();
  const ids = [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
  expect(ids.length).toBeGreaterThan(1);
  const rest = await read(ids[0]!, 'third');
  expect(rest).not.toContain(`id: ${ids[0]}\n`);
  expect(rest).toContain(`id: ${ids[1]}\n`);
});

it('takes orders from administrators, and says why not', async () => {
  const { its, app } = await serve('[ -e "$TMPDIR/../../good" ] || exit 7');
  await its.settled('failed');
  const post = (order: string, payload: object) =>
    app.inject({ method: 'POST', url: `/api/v1/clusters/lab/pipeline/${order}`, headers: ADMIN, payload });
  expect((await post('retry', { step: 'two' })).json()).toMatchObject({
    error: { code: 'RH_NOT_FOUND', message: expect.stringContaining('it has one') },
  });
  expect((await post('run', { stepp: 'one' })).statusCode).toBe(400);
  expect((await post('skip', {})).statusCode).toBe(400);
  expect((await post('skip', { step: 'one' })).json()).toMatchObject({
    steps: [{ name: 'one', state: 'skipped' }],
  });
  await until('it is done', async () => (await its.pipeline.status('lab')).state === 'done');
  expect((await post('retry', {})).json()).toMatchObject({ error: { code: 'RH_PIPELINE_REFUSED' } });
  expect((await app.inject('/api/v1/pipelines')).json()).toMatchObject([{ name: 'lab', state: 'done' }]);
});
