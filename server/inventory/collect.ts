import { didYouMean } from '../document/nearest.ts';
import { type Place, type Problem, quote } from '../document/problem.ts';
import { isRecord, show } from '../document/shape.ts';
import { type Path, parseYaml, type YamlDocument } from '../document/yaml.ts';
import {
  type Cluster,
  type Host,
  type Kind,
  type Pool,
  type Profile,
  SECTIONS,
  type Section,
} from './schema.ts';

export interface SourceFile {
  /** As it is shown to people. */
  name: string;
  text: string;
}

/** One entry of a list in the inventory, with the place it came from. */
export class Item<T extends { name: string } = { name: string }> {
  readonly kind: Kind;
  readonly value: T;
  readonly #document: YamlDocument;
  readonly #path: Path;

  constructor(kind: Kind, value: T, document: YamlDocument, path: Path) {
    this.kind = kind;
    this.value = value;
    this.#document = document;
    this.#path = path;
  }

  /** Where one of its values stands, or the item itself. */
  place(...path: Path): Place {
    return this.#document.placeOf([...this.#path, ...path]);
  }

  get subject(): string {
    return subjectOf(this.kind, this.value.name);
  }

  /** A scalar exactly as it was written, or `undefined` if there is none. */
  text(...path: Path): string | undefined {
    return this.#document.textOf([...this.#path, ...path]);
  }

  error(path: Path, message: string): Problem {
    return { severity: 'error', ...this.place(...path), subject: this.subject, message };
  }

  warning(path: Path, message: string): Problem {
    return { severity: 'warning', ...this.place(...path), subject: this.subject, message };
  }

  /** The same entry with other values: places are kept. */
  with(value: T): Item<T> {
    return new Item(this.kind, value, this.#document, this.#path);
  }
}

export interface Items {
  clusters: Item<Cluster>[];
  profiles: Item<Profile>[];
  pools: Item<Pool>[];
  hosts: Item<Host>[];
}

export interface Collected {
  items: Items;
  problems: Problem[];
  /** Names of items that are there but were refused: referring to them is no second fault. */
  refused: Record<Kind, Set<string>>;
  /** Something could not be read at all, so nobody knows which names it has. */
  incomplete: boolean;
}

/** Files to validated items. An item that doesn't fit its schema is left out and said so. */
export function collect(files: readonly SourceFile[]): Collected {
  const collected: Collected = {
    items: { clusters: [], profiles: [], pools: [], hosts: [] },
    problems: [],
    refused: { cluster: new Set(), profile: new Set(), pool: new Set(), host: new Set() },
    incomplete: false,
  };
  for (const file of files) {
    const parsed = parseYaml(file.name, file.text);
    if ('document' in parsed) {
      collectDocument(parsed.document, collected);
    } else {
      collected.problems.push(parsed.problem);
      collected.incomplete = true;
    }
  }
  return collected;
}

function collectDocument(document: YamlDocument, collected: Collected): void {
  const { items, problems, refused } = collected;
  const { value } = document;
  if (value === undefined) return;
  const error = (place: Place, subject: string, message: string): void => {
    problems.push({ severity: 'error', ...place, subject, message });
  };
  const known = Object.keys(SECTIONS);
  if (!isRecord(value)) {
    const otherwise = 'move the file out of this folder if it is no inventory';
    error(
      document.placeOf([]),
      '',
      `expected the lists ${known.join(', ')}, got ${show(value)}; ${otherwise}`,
    );
    collected.incomplete = true;
    return;
  }
  for (const [key, list] of Object.entries(value)) {
    if (!isSection(key)) {
      const guess = didYouMean(key, known) || `; known: ${known.join(', ')}`;
      error(document.placeOfKey([key]), '', `unknown list ${quote(key)}${guess}`);
      collected.incomplete = true;
      continue;
    }
    if (list === null) continue; // `hosts:` with nothing under it yet
    if (!Array.isArray(list)) {
      error(document.placeOf([key]), '', `\`${key}\`: expected a list (lines that start with "- name: …")`);
      collected.incomplete = true;
      continue;
    }
    const { kind, shape } = SECTIONS[key];
    list.forEach((entry: unknown, index) => {
      const path = [key, index];
      const name = isRecord(entry) ? nameOf(entry.name, document, path) : undefined;
      const subject = name === undefined ? `${key}[${index}]` : subjectOf(kind, name);
      const read = shape.read(document, path, subject, entry);
      if ('value' in read) {
        (items[key] as Item[]).push(new Item(kind, read.value, document, path));
      } else {
        problems.push(...read.problems);
        if (name !== undefined) refused[kind].add(name);
        else if (kind !== 'host') collected.incomplete = true;
      }
    });
  }
}

/** A name of digits only is a number to YAML, and 007 is not 7. */
function nameOf(name: unknown, document: YamlDocument, path: Path): string | undefined {
  return typeof name === 'number'
    ? document.textOf([...path, 'name'])
    : typeof name === 'string'
      ? name
      : undefined;
}

function subjectOf(kind: Kind, name: string): string {
  return `${kind} ${quote(name)}`;
}

function isSection(key: string): key is Section {
  return Object.hasOwn(SECTIONS, key);
}
