import { stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { ContentStore } from '../content/store.ts';
import { type Checked, checkFile } from './check-file.ts';
import { sha256InSums, sha512InDigests } from './digests.ts';
import type { OnProgress } from './download.ts';
import { FetchFault } from './fault.ts';
import type { PlannedFile } from './plan.ts';
import { setAside } from './quarantine.ts';
import type { SigningKey } from './signing-key.ts';
import type { Candidate, Source } from './source.ts';

export interface AcquirerOptions {
  contents: ContentStore;
  assetsDir: string;
  key: SigningKey;
  now: () => number;
  signal: AbortSignal;
  onRefused: (file: PlannedFile, reason: string, keptAt: string) => Promise<void>;
}

export interface Observer {
  onState: (state: 'fetching' | 'verifying') => void;
  onProgress: OnProgress;
}

/** What speaks for a file, before the file itself is there. */
interface Evidence {
  signature?: Buffer;
  digests?: Buffer;
  sums?: Buffer;
}

type Verdict = { how: string; checked: Checked } | { fault: string; ofKey: boolean };

/** Gets one planned file into the content store: what proves it first, then the file, then its name. */
export class Acquirer {
  readonly #options: AcquirerOptions;
  /** Once a run is enough. */
  #freshKey: Promise<string | undefined> | undefined;

  constructor(options: AcquirerOptions) {
    this.#options = options;
  }

  /** Whether a file is there with all that belongs to it. */
  async has(file: PlannedFile): Promise<boolean> {
    const { contents } = this.#options;
    const names = [file.name, ...companionsOf(file)];
    return (await Promise.all(names.map((name) => contents.resolve(name)))).every(
      (found) => found !== undefined,
    );
  }

  /** Takes it from the source, unless what is at its place already is right. */
  async acquire(file: PlannedFile, source: Source, observer: Observer): Promise<void> {
    const evidence = await this.#evidenceFor(file, source);
    if (await this.#takeWhatIsThere(file, evidence, source, observer)) return;
    observer.onState('fetching');
    let candidate = await source.get(file, observer.onProgress);
    let verdict = await this.#judge(file, evidence, candidate.path, observer);
    if ('fault' in verdict && candidate.isPatched && !verdict.ofKey) {
      await candidate.discard();
      observer.onState('fetching');
      candidate = await source.get(file, observer.onProgress);
      verdict = await this.#judge(file, evidence, candidate.path, observer);
    }
    if ('fault' in verdict) throw await this.#refuse(file, candidate, verdict.fault, verdict.ofKey);
    await this.#keep(file, evidence, candidate.path, verdict, source.originOf(file));
    await candidate.discard();
  }

  async #evidenceFor(file: PlannedFile, source: Source): Promise<Evidence> {
    if (file.proof.kind === 'sums') {
      const sums = await source.sumsOf(file);
      if (sums === undefined || sha256InSums(sums.toString('utf8'), basename(file.name)) === undefined)
        throw new FetchFault(`${source.originOf(file)}: no list of SHA-256 sums has ${basename(file.name)}.`);
      return { sums };
    }
    const [signature, digests] = await Promise.all([
      source.beside(file, '.sig'),
      source.beside(file, '.DIGESTS'),
    ]);
    if (signature === undefined && file.proof.kind === 'signature')
      throw new FetchFault(`${source.originOf(file)} has no signature (.sig).`);
    return {
      ...(signature === undefined ? {} : { signature }),
      ...(digests === undefined ? {} : { digests }),
    };
  }

  /** Somebody may have put it there with curl, or only its signature was lost. */
  async #takeWhatIsThere(
    file: PlannedFile,
    evidence: Evidence,
    source: Source,
    observer: Observer,
  ): Promise<boolean> {
    const path = join(this.#options.assetsDir, file.name);
    const found = await stat(path).catch(() => undefined);
    const recorded = await this.#options.contents.recordedSize(file.name);
    if (found === undefined || !found.isFile() || found.size !== (recorded ?? found.size)) return false;
    const verdict = await this.#judge(file, evidence, path, observer);
    if ('fault' in verdict) return false;
    await this.#keep(file, evidence, path, verdict, source.originOf(file));
    return true;
  }

  async #judge(file: PlannedFile, evidence: Evidence, path: string, observer: Observer): Promise<Verdict> {
    const { key, signal } = this.#options;
    observer.onState('verifying');
    if (evidence.signature === undefined) return this.#judgeWith(file, evidence, path, '');
    const armoredKeys = await key.load(signal);
    const verdict = await this.#judgeWith(file, evidence, path, armoredKeys);
    if (!('fault' in verdict) || !verdict.ofKey) return verdict;
    // Subkeys come and go: the newest key file may know better.
    this.#freshKey ??= key.refresh(signal).catch(() => undefined);
    const fresh = await this.#freshKey;
    signal.throwIfAborted();
    const isNews = fresh !== undefined && fresh !== armoredKeys;
    return isNews ? this.#judgeWith(file, evidence, path, fresh) : verdict;
  }

  async #judgeWith(
    file: PlannedFile,
    { signature, digests, sums }: Evidence,
    path: string,
    armoredKeys: string,
  ): Promise<Verdict> {
    const { key, now, signal } = this.#options;
    const name = basename(file.name);
    const checked = await checkFile(
      signature === undefined
        ? { path }
        : { path, signature: { binary: signature, armoredKeys, fingerprint: key.fingerprint, now: now() } },
      signal,
    );
    const proofs: string[] = [];
    if (checked.signature?.isRight === false)
      return { fault: checked.signature.reason, ofKey: checked.signature.ofKey };
    if (checked.signature?.isRight === true) proofs.push(`OpenPGP signature by ${checked.signature.signer}`);
    if (digests !== undefined) {
      const expected = sha512InDigests(digests.toString('utf8'), name);
      if (expected !== checked.sha512)
        return { fault: `its SHA-512 is not the one in ${name}.DIGESTS`, ofKey: false };
      proofs.push('SHA-512 in its DIGESTS');
    }
    if (sums !== undefined) {
      const expected = sha256InSums(sums.toString('utf8'), name);
      if (expected !== checked.sha256)
        return { fault: 'its SHA-256 is not the one in the list', ofKey: false };
      proofs.push('SHA-256 in the list of its server');
    }
    return { how: proofs.length === 0 ? 'nobody' : proofs.join(', '), checked };
  }

  async #keep(
    file: PlannedFile,
    { signature, digests, sums }: Evidence,
    path: string,
    { how, checked }: Extract<Verdict, { how: string }>,
    origin: string,
  ): Promise<void> {
    const { contents } = this.#options;
    const companions: [string, Buffer | undefined][] = [
      [`${file.name}.sig`, signature],
      [`${file.name}.DIGESTS`, digests],
      [file.proof.kind === 'sums' ? (file.proof.keptAs ?? '') : '', sums],
    ];
    // Before the file itself: who finds the file finds these, too.
    for (const [name, bytes] of companions) {
      if (bytes !== undefined && name !== '')
        await contents.putBytes(bytes, { name, origin, verifiedHow: `with ${basename(file.name)}` });
    }
    const { sha256, size } = checked;
    await contents.adopt({ from: path, name: file.name, origin, sha256, size, verifiedHow: how });
  }

  /** A key file can be mended without fetching the image again, so then it stays where it can be taken up. */
  async #refuse(file: PlannedFile, candidate: Candidate, fault: string, ofKey: boolean): Promise<FetchFault> {
    const { assetsDir, onRefused } = this.#options;
    const isBad = candidate.isOurs && !ofKey;
    const kept = await setAside(assetsDir, file.name, isBad ? candidate.path : undefined, fault);
    if (isBad || !candidate.isOurs) await candidate.discard();
    await onRefused(file, fault, kept);
    return new FetchFault(`${basename(file.name)} was refused: ${fault}. See ${kept}.`);
  }
}

/** What must be there with a file, as far as that is known without asking. */
function companionsOf({ name, proof }: PlannedFile): string[] {
  switch (proof.kind) {
    case 'signature':
      return [`${name}.sig`];
    case 'sums':
      return proof.keptAs === undefined ? [] : [proof.keptAs];
    case 'signature-if-there':
      return [];
  }
}
