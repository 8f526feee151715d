import { join } from 'node:path';
import { CONTENT_FOLDER } from '../content/names.ts';
import { lengthOf } from './answers.ts';
import type { Downloader, OnProgress } from './download.ts';
import { FetchFault } from './fault.ts';
import { fetchSmall } from './fetch-small.ts';
import { Partial } from './partial.ts';
import type { PlannedFile } from './plan.ts';
import { shownUrl } from './shown-url.ts';
import type { Candidate, Source } from './source.ts';
import type { Web } from './web.ts';

export interface WebSourceOptions {
  web: Web;
  downloader: Downloader;
  assetsDir: string;
  signal: AbortSignal;
  /** The first pause after a failure; for tests. */
  pauseMs?: number;
}

/** Folder of downloads that are not verified yet, below the assets folder. */
export const PARTIAL_FOLDER = join(CONTENT_FOLDER, 'partial');

export function partialPath(assetsDir: string, name: string): string {
  return join(assetsDir, PARTIAL_FOLDER, `${name.replaceAll('/', '__')}.partial`);
}

/** The release servers, or mirrors of them. */
export class WebSource implements Source {
  readonly #options: WebSourceOptions;
  /** One list has the sums of many files. */
  readonly #lists = new Map<string, Promise<Buffer | undefined>>();

  constructor(options: WebSourceOptions) {
    this.#options = options;
  }

  originOf({ url }: PlannedFile): string {
    return shownUrl(url);
  }

  beside({ url }: PlannedFile, extension: string): Promise<Buffer | undefined> {
    return this.small(`${url}${extension}`);
  }

  sumsOf({ proof }: PlannedFile): Promise<Buffer | undefined> {
    if (proof.kind !== 'sums') return Promise.resolve(undefined);
    const list = this.#lists.get(proof.url) ?? this.small(proof.url);
    this.#lists.set(proof.url, list);
    return list;
  }

  async get(file: PlannedFile, onProgress: OnProgress): Promise<Candidate> {
    const { downloader, assetsDir, signal } = this.#options;
    const path = partialPath(assetsDir, file.name);
    const { wasResumed } = await downloader.fetch({ url: file.url, partial: path, signal, onProgress });
    return {
      path,
      isPatched: wasResumed,
      isOurs: true,
      discard: () => new Partial(path).discard(),
    };
  }

  /** How long a file is, as far as its server says so. */
  async sizeOf({ url }: PlannedFile): Promise<number | undefined> {
    const { web, signal } = this.#options;
    try {
      const { response } = await web.open(url, { method: 'HEAD', signal });
      response.destroy();
      return response.statusCode === 200 ? lengthOf(response) : undefined;
    } catch {
      return undefined; // the download will say what is wrong
    }
  }

  /** Bytes of it that are here already, unverified. */
  async bytesHere({ name, url }: PlannedFile): Promise<number> {
    return (await new Partial(partialPath(this.#options.assetsDir, name)).read(url)).bytes;
  }

  async small(url: string): Promise<Buffer | undefined> {
    const { web, signal, pauseMs } = this.#options;
    return fetchSmall(web, url, { signal, ...(pauseMs === undefined ? {} : { pauseMs }) }).catch(
      (error: unknown) => {
        if (error instanceof FetchFault && error.isAbsent) return undefined;
        throw error;
      },
    );
  }
}
