import { serialize } from 'node:v8';
import { Recent } from '../templating/recent.ts';
import { fillYaml, type Unfilled } from '../templating/render-yaml.ts';
import type { Skeleton } from '../templating/skeleton.ts';
import type { Layer } from './layers.ts';
import { isContents, type Outline, type OutlineOptions, outlineOf } from './outline.ts';

/** A template that was run for a host. */
export interface Draft extends Unfilled {
  template: string;
}

/**
 * Outlines by all that they are made of: the skeletons of the layers, and the values in them that go elsewhere than into
 * contents. Files that layers take contents from count as parts of the templates: when one changes, there must be a new
 * set of templates, and so other skeletons.
 */
export class OutlineCache {
  readonly #kept: Recent<Outline | null>;
  readonly #forms = new WeakMap<Skeleton, Form>();
  #nextId = 0;

  constructor(max = 500) {
    this.#kept = new Recent(max);
  }

  /** `undefined` when these layers have none. */
  of(drafts: readonly Draft[], options: OutlineOptions): Outline | undefined {
    let key = '';
    for (const { skeleton, values } of drafts) key += keyOf(this.#formOf(skeleton), values);
    const known = this.#kept.get(key);
    if (known !== undefined) return known ?? undefined;
    const layers = filled(drafts);
    const outline = layers === undefined ? undefined : outlineOf(layers, options);
    this.#kept.keep(key, outline ?? null);
    return outline;
  }

  #formOf(skeleton: Skeleton): Form {
    const known = this.#forms.get(skeleton);
    if (known !== undefined) return known;
    const deciding = skeleton.holes.filter((hole) => !isContents(hole)).flatMap(({ values }) => values);
    const form = { id: this.#nextId++, deciding };
    this.#forms.set(skeleton, form);
    return form;
  }
}

/** What an outline depends on of the documents of a skeleton. */
interface Form {
  id: number;
  /** Indexes of values. */
  deciding: readonly number[];
}

function filled(drafts: readonly Draft[]): Layer[] | undefined {
  const layers: Layer[] = [];
  for (const draft of drafts) {
    const rendered = fillYaml(draft);
    if ('problems' in rendered) return undefined;
    layers.push({ template: draft.template, document: rendered.document });
  }
  return layers;
}

function keyOf({ id, deciding }: Form, values: readonly unknown[]): string {
  let key = `${id} `;
  for (const index of deciding) key += keyOfValue(values[index]);
  return key;
}

/** With its kind and its length, so that no two lists of values have the same key. */
function keyOfValue(value: unknown): string {
  if (typeof value === 'string') return `"${value.length} ${value}`;
  if (typeof value === 'boolean') return `${value} `;
  if (Array.isArray(value) && value.every((item) => typeof item === 'string')) {
    return `[${value.length} ${value.map(keyOfValue).join('')}`;
  }
  // Not as JSON, to which Infinity is null.
  const bytes = serialize(value).toString('latin1');
  return `#${bytes.length} ${bytes}`;
}
