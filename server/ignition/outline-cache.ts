import { serialize } from 'node:v8';
import { Recent } from '../templating/recent.ts';
import type { Skeleton } from '../templating/skeleton.ts';
import type { Layer } from './layers.ts';
import { isContents, type Outline, type OutlineOptions, outlineOf } from './outline.ts';

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
  of(layers: readonly Layer[], options: OutlineOptions): Outline | undefined {
    const key = layers
      .map(({ document }) => keyOf(this.#formOf(document.skeleton), document.values))
      .join('\n');
    const known = this.#kept.get(key);
    if (known !== undefined) return known ?? undefined;
    const outline = outlineOf(layers, options);
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

/** Not as JSON, to which Infinity is null. */
function keyOf({ id, deciding }: Form, values: readonly unknown[]): string {
  return `${id} ${serialize(deciding.map((index) => values[index])).toString('latin1')}`;
}
