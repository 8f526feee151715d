import { type FileHandle, open } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Space } from '../content/space.ts';
import { RailheadError } from '../errors.ts';
import { contentRangeOf, faultOf, lengthOf, validatorOf } from './answers.ts';
import { FetchFault, reasonOf } from './fault.ts';
import { PaceWatch } from './pace.ts';
import { Partial, type PartialNote } from './partial.ts';
import { shownUrl } from './shown-url.ts';
import type { Web } from './web.ts';

export interface DownloadOptions {
  web: Pick<Web, 'open'>;
  space: Space;
  /** Attempts in a row that bring nothing before it is given up. */
  maxFailures?: number;
  /** A connection that brings less than `bytesPerSecond` over this time is given up. */
  windowMs?: number;
  bytesPerSecond?: number;
  /** How long the first pause between attempts is; it doubles. */
  pauseMs?: number;
}

/** So many bytes of so many are here; `fetched` of them have just come over the network. */
export type OnProgress = (bytes: number, total: number | undefined, fetched: number) => void;

export interface DownloadJob {
  url: string;
  /** Where it is kept until it is verified. */
  partial: string;
  signal: AbortSignal;
  onProgress?: OnProgress;
}

export interface Downloaded {
  /** Bytes that came over the network this time. */
  fetched: number;
  /** Some of it was there before. */
  wasResumed: boolean;
}

const DEFAULTS = { maxFailures: 5, windowMs: 30_000, bytesPerSecond: 1024, pauseMs: 500 };
const LONGEST_PAUSE_MS = 30_000;
const MEGABYTE = 1024 * 1024;
const LOOK_AT_SPACE_EVERY = 32 * MEGABYTE;

/**
 * Fetches one file to its `.partial`, however often the connection breaks: each attempt goes on where the last one
 * ended, if the server still has the same file. What arrives is not verified yet.
 */
export class Downloader {
  readonly #options: DownloadOptions & typeof DEFAULTS;

  constructor(options: DownloadOptions) {
    this.#options = { ...DEFAULTS, ...options };
  }

  async fetch(job: DownloadJob): Promise<Downloaded> {
    const { maxFailures, pauseMs, windowMs, bytesPerSecond } = this.#options;
    // Less than that is no progress: a server could go on like that for ever.
    const leastBytes = (bytesPerSecond * windowMs) / 1000;
    const result: Downloaded = { fetched: 0, wasResumed: false };
    for (let failures = 0; ; ) {
      const before = result.fetched;
      try {
        await this.#attempt(job, result);
        return result;
      } catch (error) {
        job.signal.throwIfAborted();
        if (!(error instanceof FetchFault) || !error.passes) throw error;
        failures = result.fetched - before >= leastBytes ? 1 : failures + 1;
        if (failures >= maxFailures)
          throw new FetchFault(`${reasonOf(error)} Given up after ${failures} attempts.`, { cause: error });
        const pause = error.waitMs ?? pauseMs * 2 ** (failures - 1);
        await sleep(Math.min(pause, LONGEST_PAUSE_MS), undefined, { signal: job.signal });
      }
    }
  }

  async #attempt(job: DownloadJob, result: Downloaded): Promise<void> {
    const partial = new Partial(job.partial);
    const { bytes, note } = await partial.read(job.url);
    if (bytes > 0) result.wasResumed = true;
    if (bytes > 0 && note.total === bytes) return job.onProgress?.(bytes, bytes, 0);
    const headers: Record<string, string> =
      bytes === 0 ? {} : { range: `bytes=${bytes}-`, 'if-range': note.validator ?? '' };
    const { response, url } = await this.#options.web.open(job.url, { headers, signal: job.signal });
    try {
      switch (response.statusCode) {
        case 200:
          result.wasResumed = false;
          return await this.#takeWhole(job, partial, response, result);
        case 206:
          return await this.#takeRest(job, partial, { bytes, note }, response, result);
        case 416:
          await this.#startOver(partial, job, bytes);
          break;
        default:
          throw faultOf(response, url);
      }
    } finally {
      response.destroy();
    }
  }

  async #takeWhole(job: DownloadJob, partial: Partial, response: IncomingMessage, result: Downloaded) {
    assertPlain(response, job.url);
    const [total, validator] = [lengthOf(response), validatorOf(response)];
    await this.#options.space.assertRoomFor(total ?? 0, shownUrl(job.url));
    await partial.begin({
      url: job.url,
      ...(validator === undefined ? {} : { validator }),
      ...(total === undefined ? {} : { total }),
    });
    await this.#take(job, partial, 0, total, response, result);
  }

  async #takeRest(
    job: DownloadJob,
    partial: Partial,
    { bytes, note }: { bytes: number; note: PartialNote },
    response: IncomingMessage,
    result: Downloaded,
  ): Promise<void> {
    assertPlain(response, job.url);
    const { start, total } = contentRangeOf(response);
    const validator = validatorOf(response);
    // A server that doesn't know If-Range may send the rest of another file.
    const isSame =
      start === bytes &&
      (note.total === undefined || total === undefined || total === note.total) &&
      (validator === undefined || validator === note.validator);
    if (!isSame) return this.#startOver(partial, job, bytes);
    const whole = note.total ?? total;
    await this.#options.space.assertRoomFor((whole ?? bytes) - bytes, shownUrl(job.url));
    await this.#take(job, partial, bytes, whole, response, result);
  }

  /** What is here belongs to another file than what is there now. */
  async #startOver(partial: Partial, job: DownloadJob, bytes: number): Promise<never> {
    await partial.discard();
    throw new FetchFault(`${shownUrl(job.url)} is another file than the one whose ${bytes} bytes are here.`, {
      passes: true,
      waitMs: 1,
    });
  }

  async #take(
    job: DownloadJob,
    partial: Partial,
    from: number,
    total: number | undefined,
    response: IncomingMessage,
    result: Downloaded,
  ): Promise<void> {
    const { windowMs, bytesPerSecond } = this.#options;
    const where = shownUrl(job.url);
    let slow = false;
    const watch = new PaceWatch({
      windowMs,
      bytesPerSecond,
      onSlow: () => {
        slow = true;
        response.destroy(new Error('too slow'));
      },
    });
    const stop = (): void => void response.destroy();
    job.signal.addEventListener('abort', stop, { once: true });
    const file = await open(partial.path, 'r+');
    let at = from;
    try {
      job.onProgress?.(at, total, 0);
      for await (const chunk of response as AsyncIterable<Buffer>) {
        if (total !== undefined && at + chunk.length > total)
          throw await this.#tooLong(partial, where, total);
        await writeAll(file, chunk, at);
        at += chunk.length;
        result.fetched += chunk.length;
        watch.count(chunk.length);
        job.onProgress?.(at, total, chunk.length);
        if (Math.floor(at / LOOK_AT_SPACE_EVERY) > Math.floor((at - chunk.length) / LOOK_AT_SPACE_EVERY))
          await this.#options.space.assertRoomFor((total ?? at) - at, where);
      }
    } catch (error) {
      job.signal.throwIfAborted();
      if (error instanceof FetchFault || error instanceof RailheadError || isOfDisk(error)) throw error;
      const why = slow ? `brings less than ${bytesPerSecond} bytes a second` : `broke off after ${at} bytes`;
      throw new FetchFault(`${where} ${why}.`, { passes: true, cause: error });
    } finally {
      watch.stop();
      job.signal.removeEventListener('abort', stop);
      await file.close();
    }
    job.signal.throwIfAborted();
    if (!response.complete || (total !== undefined && at < total))
      throw new FetchFault(`${where} ended after ${at} of ${total ?? 'unknown'} bytes.`, { passes: true });
  }

  async #tooLong(partial: Partial, where: string, total: number): Promise<FetchFault> {
    await partial.discard();
    return new FetchFault(`${where} is longer than the ${total} bytes that it should have.`);
  }
}

/** A file that came packed would be hashed as something else, and its parts would not fit together. */
function assertPlain({ headers }: IncomingMessage, url: string): void {
  const encoding = headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity')
    throw new FetchFault(`${shownUrl(url)} came in the encoding ${encoding}, which was not asked for.`);
}

async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, at, bytes.length - at, position + at);
    at += bytesWritten;
  }
}

function isOfDisk(error: unknown): boolean {
  return /^(ENOSPC|EDQUOT|EROFS|EIO|EACCES|EPERM|EFBIG)$/.test((error as NodeJS.ErrnoException)?.code ?? '');
}
