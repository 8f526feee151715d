import { didYouMean } from '../document/nearest.ts';
import type { Place, Problem } from '../document/problem.ts';
import { isRecord } from '../document/shape.ts';
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
  refused: Set<string>;
  /** A file could not be read at all, so nobody knows which names it has. */
  incomplete: boolean;
}

/** Files to validated items. An item that doesn't fit its schema is left out and said so. */
export function collect(files: readonly SourceFile[]): Collected {
  const collected: Collected = {
    items: { clusters: [], profiles: [], pools: [], hosts: [] },
    problems: [],
    refused: new Set(),
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
    error(document.placeOf([]), '', `expected a mapping with the lists ${known.join(', ')}`);
    return;
  }
  for (const [key, list] of Object.entries(value)) {
    if (!isSection(key)) {
      const guess = didYouMean(key, known) || `; known: ${known.join(', ')}`;
      error(document.placeOfKey([key]), '', `unknown list "${key}"${guess}`);
      collected.incomplete = true;
      continue;
    }
    if (list === null) continue; // `hosts:` with nothing under it yet
    if (!Array.isArray(list)) {
      error(document.placeOf([key]), '', `\`${key}\`: expected a list (lines that start with "- name: …")`);
      continue;
    }
    const { kind, shape } = SECTIONS[key];
    list.forEach((entry: unknown, index) => {
      const path = [key, index];
      const name = isRecord(entry) && typeof entry.name === 'string' ? entry.name : undefined;
      const subject = name === undefined ? `${key}[${index}]` : subjectOf(kind, name);
      const read = shape.read(document, path, subject, entry);
      if ('value' in read) {
        (items[key] as Item[]).push(new Item(kind, read.value, document, path));
      } else {
        problems.push(...read.problems);
        refused.add(subject);
      }
    });
  }
}

export function subjectOf(kind: Kind, name: string): string {
  return `${kind} "${name}"`;
}

function isSection(key: string): key is Section {
  return Object.hasOwn(SECTIONS, key);
}
