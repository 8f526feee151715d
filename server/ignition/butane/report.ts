import type { Problem } from '../../document/problem.ts';
import { formatPath } from '../../document/shape.ts';
import type { Path, YamlDocument } from '../../document/yaml.ts';

/** Collects what is wrong with a document, with the places. */
export class Report {
  readonly problems: Problem[] = [];
  readonly #document: YamlDocument;

  constructor(document: YamlDocument) {
    this.#document = document;
  }

  error(path: Path, message: string): void {
    this.#add('error', path, message, false);
  }

  warning(path: Path, message: string): void {
    this.#add('warning', path, message, false);
  }

  /** About a key, not about its value. */
  keyError(path: Path, message: string): void {
    this.#add('error', path, message, true);
  }

  #add(severity: Problem['severity'], path: Path, message: string, isKey: boolean): void {
    const { file, line, col } = isKey ? this.#document.placeOfKey(path) : this.#document.placeOf(path);
    const at = isKey ? path.slice(0, -1) : path;
    const prefix = at.length === 0 ? '' : `\`${formatPath(at)}\`: `;
    this.problems.push({ severity, file, line, col, subject: '', message: `${prefix}${message}` });
  }
}
