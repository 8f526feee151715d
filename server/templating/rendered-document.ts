import type { Place } from '../document/problem.ts';
import { type Path, YamlDocument } from '../document/yaml.ts';
import { isOneValue } from './holes.ts';
import type { Skeleton } from './skeleton.ts';

/** A document that was rendered from a template, and whose places are places in that template and its partials. */
export class RenderedDocument extends YamlDocument {
  /** The same one for all documents that differ in nothing but their values. */
  readonly skeleton: Skeleton;
  readonly values: readonly unknown[];

  constructor(file: string, value: unknown, skeleton: Skeleton, values: readonly unknown[]) {
    // Everything that the base class works out from text and events is asked of the skeleton's document.
    super(file, '', [], value);
    this.skeleton = skeleton;
    this.values = values;
  }

  override placeOf(path: Path): Place {
    const { skeleton } = this;
    return skeleton.placeInTemplate(skeleton.document.placeOf(this.#raw(path)));
  }

  override placeOfKey(path: Path): Place {
    const raw = this.#raw(path);
    const { document } = this.skeleton;
    const place = raw.length === path.length ? document.placeOfKey(raw) : document.placeOf(raw);
    return this.skeleton.placeInTemplate(place);
  }

  /** `undefined` for what is, or contains, a value: that was not written, it was given. */
  override textOf(path: Path): string | undefined {
    const raw = this.#raw(path);
    if (raw.length !== path.length) return undefined;
    const text = this.skeleton.document.textOf(raw);
    return text === undefined || this.skeleton.isMarked(text) ? undefined : text;
  }

  /** The values that were put into a text among other text; none when one value is all of it. */
  valuesWithin(path: Path): readonly unknown[] {
    const parts = this.skeleton.partsAt(this.#raw(path));
    if (parts === undefined || isOneValue(parts)) return [];
    return parts.flatMap((part) => (typeof part === 'number' ? [this.values[part]] : []));
  }

  #raw(path: Path): Path {
    return this.skeleton.rawPath(path, this.values);
  }
}
