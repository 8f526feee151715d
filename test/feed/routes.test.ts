import { hash, randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, truncate, utimes, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { FastifyInstance, LightMyRequestResponse } from 'fastify';
import { createMessage, readKey, readSignature, verify } from 'openpgp';
import pino from 'pino';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { Space } from '../../server/content/space.ts';
import { ContentStore } from '../../server/content/store.ts';
import { contentNameOf, fileOf, type ImageId } from '../../server/feed/image-name.ts';
import { SysextImages } from '../../server/feed/images.ts';
import { SysextPublisher } from '../../server/feed/publisher.ts';
import { buildHttpApp } from '../../server/http/app.ts';
import type { HttpContext } from '../../server/http/context.ts';
import { httpContext, TOKEN } from '../support/http-context.ts';
import { fakeImage, imageOf } from '../support/sysext-image.ts';

let context: HttpContext;
let app: FastifyInstance;
let url: string;
beforeEach(async () => {
  context = await httpContext();
  app = buildHttpApp({ context, logger: pino({ level: 'silent' }) });
  onTestFinished(() => app.close());
  url = await app.listen({ host: '127.0.0.1', port: 0 });
});

const admin = { host: 'localhost', authorization: `Bearer ${TOKEN}` };
const k8s = (version: string): ImageId => ({ name: 'kubernetes', version, arch: 'x86-64' });

function upload(id: ImageId, image: Buffer, query = '', headers = {}): Promise<LightMyRequestResponse> {
  return app.inject({
    method: 'POST',
    url: `/api/v1/sysexts/${id.name}/${id.version}/${id.arch}?${query}`,
    headers: { ...admin, 'content-type': 'application/octet-stream', ...headers },
    payload: image,
  });
}

async function publish(...versions: string[]): Promise<void> {
  for (const version of versions) {
    expect((await upload(k8s(version), imageOf(k8s(version)))).statusCode).toBe(200);
  }
}

/** Over a real connection: files are sent past Fastify. */
async function get(path: string, headers: Record<string, string> = {}, method = 'GET') {
  const answer = await fetch(`${url}${path}`, { method, headers });
  const rawPayload = Buffer.from(await answer.arrayBuffer());
  return {
    statusCode: answer.status,
    headers: answer.headers,
    rawPayload,
    body: rawPayload.toString(),
    json: () => JSON.parse(rawPayload.toString()),
  };
}
const filesOf = async (path: string): Promise<string[]> =>
  (await get(path)).body
    .split('\n')
    .slice(0, -1)
    .map((line) => line.slice(66));

async function isSigned(sums: Buffer, signature: Buffer): Promise<boolean> {
  const { rawPayload } = await get('/sysext/signing-key.gpg');
  const { signatures } = await verify({
    message: await createMessage({ binary: sums }),
    signature: await readSignature({ binarySignature: signature }),
    verificationKeys: await readKey({ binaryKey: rawPayload }),
  });
  return signatures[0]!.verified.catch(() => false);
}

describe('the feed', () => {
  it('has nothing until something is published', async () => {
    for (const file of [
      'kubernetes/SHA256SUMS',
      'kubernetes/SHA256SUMS.gpg',
      'kubernetes.conf',
      'c/lab/kubernetes/SHA256SUMS',
    ]) {
      const answer = await get(`/sysext/${file}`);
      expect([answer.statusCode, answer.json().error.code], file).toEqual([404, 'RH_NOT_FOUND']);
    }
    expect((await get('/api/v1/sysexts')).json()).toEqual([]);
  });

  it('has sums, a signature that fits and the images, with ranges and tags', async () => {
    await publish('v1.33.2', 'v1.33.10');
    const sums = await get('/sysext/kubernetes/SHA256SUMS');
    expect(sums.body).toMatch(/^([0-9a-f]{64} \*kubernetes-v1\.33\.\d+-x86-64\.raw\n){2}$/);
    const signature = await get('/sysext/kubernetes/SHA256SUMS.gpg');
    expect(await isSigned(sums.rawPayload, signature.rawPayload)).toBe(true);
    expect(await isSigned(Buffer.from(`${sums.body}x`), signature.rawPayload)).toBe(false);
    // Asked again it is the same, and needs not be sent.
    expect((await get('/sysext/kubernetes/SHA256SUMS.gpg')).rawPayload).toEqual(signature.rawPayload);
    const again = await get('/sysext/kubernetes/SHA256SUMS', {
      'if-none-match': `${sums.headers.get('etag')}`,
    });
    expect([again.statusCode, again.body]).toEqual([304, '']);

    const path = '/sysext/kubernetes/kubernetes-v1.33.2-x86-64.raw';
    const image = await get(path);
    expect(image.rawPayload).toEqual(imageOf(k8s('v1.33.2')));
    const part = await get(path, { range: 'bytes=90-99', 'if-range': `${image.headers.get('etag')}` });
    expect([part.statusCode, part.rawPayload]).toEqual([206, image.rawPayload.subarray(90, 100)]);
    const head = await get(path, {}, 'HEAD');
    expect([head.statusCode, head.headers.get('content-length')]).toEqual([200, '4096']);
  });

  it('gives a client the two halves of one moment, although a version is published in between', async () => {
    await publish('v1.33.2');
    const sums = await get('/sysext/kubernetes/SHA256SUMS');
    await get('/sysext/kubernetes/SHA256SUMS.gpg', {}, 'HEAD');
    await publish('v1.33.3');
    const signature = await get('/sysext/kubernetes/SHA256SUMS.gpg');
    expect(await isSigned(sums.rawPayload, signature.rawPayload)).toBe(true);
    const [newSums, newSignature] = [
      await get('/sysext/kubernetes/SHA256SUMS'),
      await get('/sysext/kubernetes/SHA256SUMS.gpg'),
    ];
    expect(newSums.body).toContain('v1.33.3');
    expect(await isSigned(newSums.rawPayload, newSignature.rawPayload)).toBe(true);
  });

  it('has definitions: for all, for a minor in two spellings, for a cluster', async () => {
    await publish('v1.33.2');
    const path = 'Path=http://10.0.0.5:8080/sysext/kubernetes/\n';
    expect((await get('/sysext/kubernetes.conf')).body).toContain(
      `${path}MatchPattern=kubernetes-@v-%a.raw\n`,
    );
    const pinned = `${path}MatchPattern=kubernetes-v1.33.@v-%a.raw\n`;
    for (const way of ['kubernetes-v1.33.conf', 'kubernetes-1.33.conf', 'kubernetes.conf?minor=1.33'])
      expect((await get(`/sysext/${way}`)).body, way).toContain(pinned);
    expect((await get('/sysext/c/lab/kubernetes-v1.33.conf')).body).toContain('/sysext/c/lab/kubernetes/\n');
    expect((await get('/sysext/noop.conf')).statusCode).toBe(200);
    for (const [way, status] of [
      ['kubernetes.conf?minor=x', 400],
      ['x.conf', 404],
      ['kubernetes.txt', 404],
      ['c/none/kubernetes.conf', 404],
    ] as const)
      expect((await get(`/sysext/${way}`)).statusCode, way).toBe(status);
  });

  it('shows a cluster no more than it may have, by sums and by name', async () => {
    await publish('v1.36.4', 'v1.36.10', 'v1.9.0', 'v1.37.0');
    const allowed = ['kubernetes-v1.36.4-x86-64.raw', 'kubernetes-v1.9.0-x86-64.raw'];
    expect(await filesOf('/sysext/c/lab/kubernetes/SHA256SUMS')).toEqual(allowed);
    expect((await get(`/sysext/c/lab/kubernetes/${allowed[0]}`)).statusCode).toBe(200);
    const refused = await get('/sysext/c/lab/kubernetes/kubernetes-v1.37.0-x86-64.raw');
    expect([refused.statusCode, refused.json().error.message]).toEqual([
      404,
      'kubernetes-v1.37.0-x86-64.raw is not for cluster lab, which is at kubernetes 1.36.4.',
    ]);
    const unknown = await get('/sysext/c/prod/kubernetes/SHA256SUMS');
    expect([unknown.statusCode, unknown.json().error.message]).toEqual([
      404,
      'There is no cluster "prod" in the inventory.',
    ]);
  });

  it('shows whose download is under way, and tells when it is over', async () => {
    await publish('v1.33.2');
    const host = context.inventory.index.inventory.hosts[0]!;
    const begun: string[] = [];
    const { progress } = context;
    const begin = progress.begin.bind(progress);
    progress.begin = (name, file) => {
      begun.push(`${name} ${file}`);
      return begin(name, file);
    };
    const path = '/sysext/c/lab/kubernetes/kubernetes-v1.33.2-x86-64.raw';
    Object.assign(context.inventory.index, {
      hostByIp: (ip: string) => (ip === '127.0.0.1' ? host : undefined),
    });
    await get(path);
    Object.assign(context.inventory.index, { hostByIp: () => undefined });
    await get(path);
    expect(begun).toEqual([`${host.name} kubernetes-v1.33.2-x86-64.raw`]);
    expect(progress.get(host.name)).toBeUndefined();
    const sent = await context.events.list({ kind: 'feed.sent', limit: 10 });
    expect(sent).toMatchObject([
      { host: host.name, data: { file: 'kubernetes-v1.33.2-x86-64.raw', bytes: 4096, of: 4096 } },
    ]);
  });
});

describe('publishing', () => {
  const id = k8s('v1.33.2');
  const image = imageOf(id);

  it('lists what is there, oldest version first', async () => {
    await publish('v1.33.10', 'v1.33.2');
    const listed = (await get('/api/v1/sysexts')).json();
    expect(listed).toMatchObject([
      { name: 'kubernetes', version: 'v1.33.2', arch: 'x86-64', size: 4096, file: fileOf(id) },
      {
        name: 'kubernetes',
        version: 'v1.33.10',
        url: expect.stringMatching(/^http:\/\/10\.0\.0\.5:8080\/sysext\//),
      },
    ]);
    expect(await context.events.list({ kind: 'feed.published', limit: 10 })).toHaveLength(2);
  });

  it.each<
    [
      what: string,
      body: Buffer,
      query: string,
      headers: Record<string, string>,
      status: number,
      message: RegExp,
    ]
  >([
    ['no squashfs image', randomBytes(4096), '', {}, 422, /it is no squashfs image/],
    ['one that is cut', image.subarray(0, 4000), '', {}, 422, /it is cut/],
    ['less than announced', image, '', { 'content-length': '9000' }, 400, /./],
    ['nothing', Buffer.alloc(0), '', {}, 422, /no squashfs/],
    ['another hash than announced', image, `sha256=${'a'.repeat(64)}`, {}, 422, /its SHA-256 is/],
    ['another type', image, '', { 'content-type': 'application/json' }, 400, /./],
    ['too much', image, '', { 'content-length': String(2 ** 40) }, 422, /larger than/],
  ])('refuses %s, and leaves nothing behind', async (_what, body, query, headers, status, message) => {
    const answer = await upload(id, body, query, headers);
    expect(answer.json().error.message).toMatch(message);
    if (status !== 400) expect(answer.statusCode).toBe(status);
    expect(answer.statusCode).toBeGreaterThanOrEqual(400);
    expect((await get('/api/v1/sysexts')).json()).toEqual([]);
    const copies = join(context.assetsDir, '.content', 'copies');
    expect(await readdir(copies).catch(() => [])).toEqual([]);
  });

  it.each([
    '/api/v1/sysexts/c/1/arm64',
    '/api/v1/sysexts/Kube/1/arm64',
    '/api/v1/sysexts/kube/x/arm64',
    '/api/v1/sysexts/kube/1/amd64',
    '/api/v1/sysexts/kube/1%2F..%2F2/arm64',
  ])('refuses what can not be a name: %s', async (url) => {
    const headers = { ...admin, 'content-type': 'application/octet-stream' };
    expect((await app.inject({ method: 'POST', url, headers, payload: image })).statusCode).toBe(400);
  });

  it('is done once, keeps a version what it is, and replaces it only by force', async () => {
    expect((await upload(id, image)).json()).toMatchObject({ isNew: true });
    expect((await upload(id, image)).json()).toMatchObject({ isNew: false });
    const other = fakeImage('other');
    const refused = await upload(id, other);
    expect([refused.statusCode, refused.json().error.code]).toEqual([409, 'RH_SYSEXT_EXISTS']);
    expect((await upload(id, other, 'force=true')).json()).toMatchObject({ isNew: true });
    expect((await get(`/sysext/kubernetes/${fileOf(id)}`)).rawPayload).toEqual(other);
    expect((await context.events.list({ kind: 'feed.published', limit: 10 })).length).toBe(2);
  });

  it('takes an image in pieces, and goes on where it was cut', async () => {
    const sha256 = hash('sha256', image);
    const piece = (offset: number, end: number) =>
      upload(id, image.subarray(offset, end), `sha256=${sha256}&size=${image.length}&offset=${offset}`);
    expect((await piece(0, 1000)).json()).toEqual({ received: 1000 });
    // Somebody begins anew, or has lost count: told where to go on, and nothing is written twice.
    expect((await piece(0, 500)).json()).toEqual({ received: 1000 });
    expect((await piece(2000, 3000)).json()).toEqual({ received: 1000 });
    expect((await get('/api/v1/sysexts')).json()).toEqual([]);
    expect((await piece(1000, 4096)).json()).toMatchObject({ file: fileOf(id), sha256, isNew: true });
    expect((await get(`/sysext/kubernetes/${fileOf(id)}`)).rawPayload).toEqual(image);
    expect((await upload(k8s('v1'), image, `size=${image.length + 1}`)).json().error.message).toMatch(
      /need the sha256/,
    );
  });

  it('forgets pieces that make something else than was announced', async () => {
    const query = `sha256=${'a'.repeat(64)}&size=${image.length}&offset=`;
    expect((await upload(id, image.subarray(0, 1000), `${query}0`)).json()).toEqual({ received: 1000 });
    const refused = await upload(id, image.subarray(1000), `${query}1000`);
    expect([refused.statusCode, refused.json().error.message]).toEqual([
      422,
      expect.stringMatching(/its SHA-256 is/),
    ]);
    expect(await readdir(join(context.assetsDir, '.content', 'copies'))).toEqual([]);
  });

  it('never shows an image whose file is gone or cut', async () => {
    await publish('v1.33.2', 'v1.33.3');
    const path = join(context.assetsDir, contentNameOf(id));
    await chmod(path, 0o644);
    await truncate(path, 100);
    context.sysexts.images.forget(); // or a second later
    expect(await filesOf('/sysext/kubernetes/SHA256SUMS')).toEqual(['kubernetes-v1.33.3-x86-64.raw']);
  });
});

describe('removing', () => {
  /** The same an hour later. */
  function laterPublisher(): SysextPublisher {
    const { store, assetsDir, events } = context;
    const now = () => Date.now() + 3_600_001;
    const contents = new ContentStore({
      store,
      assetsDir,
      now,
      space: new Space({ dir: assetsDir, minFreeBytes: 0 }),
    });
    const images = new SysextImages({ contents, assetsDir, now });
    return new SysextPublisher({ contents, images, events, clusters: () => [], assetsDir, now });
  }

  const remove = (path: string) =>
    app.inject({ method: 'DELETE', url: `/api/v1/sysexts/${path}`, headers: admin });

  it('takes a version out at once, and lets those fetch it who have read of it', async () => {
    await publish('v1.33.2', 'v1.33.3');
    expect((await remove('kubernetes/v1.33.2')).json().removed).toMatchObject([{ version: 'v1.33.2' }]);
    expect(await filesOf('/sysext/kubernetes/SHA256SUMS')).toEqual(['kubernetes-v1.33.3-x86-64.raw']);
    const path = '/sysext/kubernetes/kubernetes-v1.33.2-x86-64.raw';
    expect((await get(path)).rawPayload).toEqual(imageOf(k8s('v1.33.2')));
    expect((await remove('kubernetes/v1.33.2')).statusCode).toBe(404);
    // Not yet, but in an hour.
    await context.sysexts.look();
    expect((await get(path)).statusCode).toBe(200);
    await laterPublisher().sweep();
    expect((await get(path)).statusCode).toBe(404);
    expect(await context.events.list({ kind: 'feed.removed', limit: 10 })).toHaveLength(1);
    // It can come back.
    await publish('v1.33.2');
    expect(await filesOf('/sysext/kubernetes/SHA256SUMS')).toHaveLength(2);
  });

  it("refuses a cluster's own version, unless it is forced", async () => {
    await publish('v1.36.4');
    const refused = await remove('kubernetes/v1.36.4');
    expect([refused.statusCode, refused.json().error.message]).toEqual([
      409,
      'kubernetes v1.36.4 is the version of lab.',
    ]);
    expect((await remove('kubernetes/v1.36.4?force=true')).statusCode).toBe(200);
  });
});

describe('files that are put into the folder by hand', () => {
  async function drop(path: string, content: Buffer, ageMs = 60_000): Promise<void> {
    const full = join(context.assetsDir, 'sysext', path);
    await mkdir(dirname(full), { recursive: true });
    await writeFile(full, content);
    const time = new Date(Date.now() - ageMs);
    await utimes(full, time, time);
  }

  it('are taken in when they are images, and reported once when they are not', async () => {
    const id = k8s('v1.33.2');
    await drop('kubernetes/kubernetes-v1.33.2-x86-64.raw', imageOf(id));
    await drop('kubernetes/kubernetes-v1.33.9-x86-64.raw', imageOf(id), 0);
    await drop('kubernetes/README.md', Buffer.from('read me'));
    await drop('kubernetes/kubernetes-v1.33.3-x86-64.raw', Buffer.from('half'));
    expect((await get('/api/v1/sysexts')).json()).toMatchObject([
      { version: 'v1.33.2', origin: 'put into the folder by hand' },
    ]);
    await get('/api/v1/sysexts');
    expect(await filesOf('/sysext/kubernetes/SHA256SUMS')).toEqual([fileOf(id)]);
    const refused = await context.events.list({ kind: 'feed.refused', limit: 10 });
    expect(
      refused.map(({ data }) => data).toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
    ).toEqual([
      { file: 'sysext/kubernetes/README.md', reason: expect.stringContaining('not called') },
      { file: 'sysext/kubernetes/kubernetes-v1.33.3-x86-64.raw', reason: 'it is no squashfs image' },
    ]);
  });
});

it('keeps the private key to itself', async () => {
  const { rawPayload } = await get('/sysext/signing-key.gpg');
  const key = await readKey({ binaryKey: rawPayload });
  expect(key.isPrivate()).toBe(false);
  expect(key.getAlgorithmInfo().algorithm).toBe('eddsaLegacy');
  expect(key.getFingerprint().toUpperCase()).toBe(await context.sysexts.key.fingerprint());
});
