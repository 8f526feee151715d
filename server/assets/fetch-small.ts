import { setTimeout as sleep } from 'node:timers/promises';
import { faultOf } from './answers.ts';
import { FetchFault } from './fault.ts';
import { shownUrl } from './shown-url.ts';
import type { Web } from './web.ts';

export interface SmallOptions {
  signal: AbortSignal;
  maxBytes?: number;
  attempts?: number;
  pauseMs?: number;
  /** For the whole of it. */
  timeoutMs?: number;
}

const MAX_BYTES = 4 * 1024 * 1024;

/** A small file, whole, in memory: signatures, lists of hashes, keys. */
export async function fetchSmall(
  web: Pick<Web, 'open'>,
  url: string,
  { signal, maxBytes = MAX_BYTES, attempts = 4, pauseMs = 500, timeoutMs = 60_000 }: SmallOptions,
): Promise<Buffer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await fetchOnce(web, url, maxBytes, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]));
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof FetchFault) || !error.passes || attempt === attempts) throw error;
      await sleep(Math.min(error.waitMs ?? pauseMs * 2 ** (attempt - 1), 30_000), undefined, { signal });
    }
  }
}

async function fetchOnce(
  web: Pick<Web, 'open'>,
  url: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Buffer> {
  const { response, url: from } = await web.open(url, { signal }).catch((error: unknown) => {
    throw error instanceof FetchFault ? error : tooSlow(url);
  });
  const stop = (): void => void response.destroy();
  signal.addEventListener('abort', stop, { once: true });
  try {
    if (response.statusCode !== 200) throw faultOf(response, from);
    const chunks: Buffer[] = [];
    let size = 0;
    for await (const chunk of response as AsyncIterable<Buffer>) {
      size += chunk.length;
      if (size > maxBytes) throw new FetchFault(`${shownUrl(url)} is longer than ${maxBytes} bytes.`);
      chunks.push(chunk);
    }
    if (signal.aborted) throw tooSlow(url);
    return Buffer.concat(chunks);
  } catch (error) {
    if (error instanceof FetchFault) throw error;
    throw new FetchFault(`${shownUrl(url)} broke off.`, { passes: true, cause: error });
  } finally {
    signal.removeEventListener('abort', stop);
    response.destroy();
  }
}

function tooSlow(url: string): FetchFault {
  return new FetchFault(`${shownUrl(url)} takes too long.`, { passes: true });
}
