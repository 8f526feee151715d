import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { onPath } from '../../../scripts/lib/run.mjs';
import { skipped } from '../../support/skipped.ts';
import { tempFolder } from '../../support/temp.ts';
import { MIB, put, serve } from './serve.ts';

const [program] = onPath('curl');
if (program === undefined) skipped('images fetched by curl', 'curl not found (apt-get install curl)');
const curl = async (...args: string[]): Promise<string> =>
  (await promisify(execFile)(program!, ['-sS', '--noproxy', '*', '--max-time', '20', ...args])).stdout;

describe.skipIf(program === undefined)('curl', () => {
  it('resumes where it was', async () => {
    const served = await serve();
    const content = await put(served, 'image', 5 * MIB + 3);
    const path = join(await tempFolder(), 'image');
    await writeFile(path, content.subarray(0, 2_000_001));
    expect(await curl('-C', '-', '-o', path, '-w', '%{http_code}', served.url('image'))).toBe('206');
    expect((await readFile(path)).equals(content)).toBe(true);
  });

  it('resumes what it has whole without harm', async () => {
    const served = await serve();
    const content = await put(served, 'image', 1000);
    const path = join(await tempFolder(), 'image');
    await writeFile(path, content);
    await curl('-C', '-', '-o', path, served.url('image'));
    expect((await readFile(path)).equals(content)).toBe(true);
  });

  it('downloads with HTTP/1.0', async () => {
    const served = await serve();
    const content = await put(served, 'image', 5 * MIB + 3);
    const path = join(await tempFolder(), 'image');
    expect(await curl('-0', '-o', path, '-w', '%{http_code}', served.url('image'))).toBe('200');
    expect((await readFile(path)).equals(content)).toBe(true);
  });

  it('fetches what has changed only', async () => {
    const served = await serve();
    await put(served, 'image', 1000);
    const folder = await tempFolder();
    const tag = join(folder, 'etag');
    const fetchAgain = [
      '--etag-compare',
      tag,
      '--etag-save',
      tag,
      '-o',
      join(folder, 'image'),
      '-w',
      '%{http_code}',
    ];
    expect(await curl(...fetchAgain, served.url('image'))).toBe('200');
    expect(await curl(...fetchAgain, served.url('image'))).toBe('304');
    await put(served, 'image', 1000);
    expect(await curl(...fetchAgain, served.url('image'))).toBe('200');
  });

  it('sees the headers with -I', async () => {
    const served = await serve();
    await put(served, 'image', 1000);
    expect(await curl('-I', served.url('image'))).toMatch(/^content-length: 1000\r$/im);
  });
});
