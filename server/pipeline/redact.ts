/** What stands in a log in place of a secret. */
export const HIDDEN = '<hidden>';

/** Shorter ones would hide half of every log, and protect nothing. */
const SHORTEST = 4;

/** Takes secrets out of lines, however they are written in them: plain, in base64, in JSON, line by line. */
export class Redactor {
  readonly #words: readonly string[];

  constructor(secrets: readonly string[]) {
    const words = secrets.flatMap((secret) => [
      secret,
      secret.trim(),
      JSON.stringify(secret).slice(1, -1),
      Buffer.from(secret).toString('base64'),
      encodeURIComponent(secret),
      // Keys have many lines, and a log has one at a time.
      ...secret.split(/\r?\n/).map((line) => line.trim()),
    ]);
    this.#words = [...new Set(words)]
      .filter((word) => word.length >= SHORTEST && !/^-----(BEGIN|END) [A-Z ]+-----$/.test(word))
      // Long ones first: a short one may be the beginning of a long one, and would leave its end.
      .sort((a, b) => b.length - a.length);
  }

  /** The longest that may still be cut in two by the end of a piece. */
  get longest(): number {
    return this.#words[0]?.length ?? 0;
  }

  clean(line: string): string {
    let cleaned = line;
    for (const word of this.#words) cleaned = cleaned.replaceAll(word, HIDDEN);
    return cleaned;
  }
}
