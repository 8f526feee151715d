import type { Path } from '../document/yaml.ts';
import { FillError, joined } from '../templating/fill.ts';
import type { Hole } from '../templating/holes.ts';
import { DEFAULT_TEMPLATE_LIMITS } from '../templating/limits.ts';
import { newMark, type Parts } from '../templating/placeholder.ts';
import type { DataUrl, DataUrls } from './butane/data-url.ts';
import type { FilesReader } from './butane/files.ts';
import { type Layer, layTogether, MAX_CONFIG_BYTES } from './layers.ts';
import { type ConfigBytes, type Gap, Sheet, toBuffer } from './sheet.ts';
import type { IgnitionConfig } from './spec/schema.ts';

/**
 * A configuration without the contents of some of its files. Hosts of a kind differ in these contents (a name, a token,
 * an address) and in little else, and Ignition asks no more of contents than that their URL can be decoded. So what
 * takes long, which is to translate, to merge, to check and to write down, is done once for all of them.
 */
export class Outline {
  readonly #config: IgnitionConfig;
  readonly #gaps: readonly ContentsGap[];
  readonly #sheets = new Map<number, Sheet>();

  constructor(config: IgnitionConfig, gaps: readonly ContentsGap[]) {
    this.#config = config;
    this.#gaps = gaps;
  }

  get gaps(): number {
    return this.#gaps.length;
  }

  /** The configuration of a host with these values, of each layer; `undefined` when something of it does not fit. */
  fill(values: readonly (readonly unknown[])[], dataUrls: DataUrls, indent: number): ConfigBytes | undefined {
    let characters = DEFAULT_TEMPLATE_LIMITS.maxOutput;
    const contents: DataUrl[] = [];
    for (const { layer, parts, path } of this.#gaps) {
      const text = joinedOrNot(parts, values[layer]!);
      if (text === undefined) return undefined;
      characters -= text.length;
      if (characters < 0) return undefined;
      contents.push(dataUrls.of(text, path));
    }
    if (this.sheet(0).sizeWith(contents) > MAX_CONFIG_BYTES) return undefined;
    return this.sheet(indent).with(contents);
  }

  /** See `jsonText`. */
  sheet(indent: number): Sheet {
    const known = this.#sheets.get(indent);
    if (known !== undefined) return known;
    const sheet = new Sheet(this.#config, this.#gaps, indent);
    this.#sheets.set(indent, sheet);
    return sheet;
  }
}

interface Marked {
  layer: number;
  /** Of the resource, in the document of the layer. */
  path: Path;
  /** What the contents are made of: text, and values of the layer. */
  parts: Parts;
}

interface ContentsGap extends Gap, Marked {}

/** Whether a text of a document does nothing but fill a file: it decides about nothing else. */
export function isContents({ path, isText }: Hole): boolean {
  const [storage, files, , contents, ...more] = path;
  if (!isText || storage !== 'storage' || files !== 'files' || more.at(-1) !== 'inline') return false;
  return contents === 'contents' ? more.length === 1 : contents === 'append' && more.length === 2;
}

export interface OutlineOptions {
  files: FilesReader;
  dataUrls: DataUrls;
}

/**
 * `undefined` when there is none: something is wrong with the layers, which is to be said with its place, or contents
 * decide about something after all.
 */
export function outlineOf(layers: readonly Layer[], options: OutlineOptions): Outline | undefined {
  const one = outlineWith('', layers, options);
  if (one === undefined || one.isWhole) return one?.outline;
  // What replaces contents by Ignition's rules inherits their compression, unless it says its own.
  const other = outlineWith('gzip', layers, options);
  return other !== undefined && isSame(one.outline, other.outline) ? one.outline : undefined;
}

function outlineWith(
  compression: '' | 'gzip',
  layers: readonly Layer[],
  { files, dataUrls }: OutlineOptions,
): { outline: Outline; isWhole: boolean } | undefined {
  const marker = new Marker(layers, dataUrls, compression);
  const laid = layTogether(layers, { files, dataUrlsFor: marker.dataUrlsFor });
  // Contents that were not asked for went another way than this knows, and are those of one host.
  if ('problems' in laid || !marker.isDone) return undefined;
  const gaps = gapsIn(laid.config, marker.marked);
  return { outline: new Outline(laid.config, gaps), isWhole: gaps.length === marker.marked.size };
}

function isSame(one: Outline, other: Outline): boolean {
  const bytesOf = (outline: Outline): Buffer => {
    const nothing: DataUrl = { source: 'data:,', compression: '' };
    return toBuffer(outline.sheet(0).with(Array(outline.gaps).fill(nothing)));
  };
  return bytesOf(one).equals(bytesOf(other));
}

/** Gives marks for the contents that differ, and real URLs for all others. */
class Marker {
  readonly marked = new Map<string, Marked>();
  readonly #word = newMark();
  readonly #dataUrls: DataUrls;
  readonly #layers: readonly Layer[];
  readonly #open: ReadonlySet<string>[];
  readonly #compression: '' | 'gzip';

  constructor(layers: readonly Layer[], dataUrls: DataUrls, compression: '' | 'gzip') {
    this.#compression = compression;
    this.#layers = layers;
    this.#dataUrls = dataUrls;
    this.#open = layers.map(
      ({ document }) => new Set(document.skeleton.holes.filter(isContents).map(({ path }) => path.join('/'))),
    );
  }

  get isDone(): boolean {
    return this.marked.size === this.#open.reduce((total, { size }) => total + size, 0);
  }

  readonly dataUrlsFor = (of: Layer): DataUrls => {
    const layer = this.#layers.indexOf(of);
    return {
      of: (contents, path) =>
        this.#open[layer]!.has(`${path.join('/')}/inline`)
          ? this.#mark(layer, path)
          : this.#dataUrls.of(contents, path),
    };
  };

  #mark(layer: number, path: Path): DataUrl {
    const source = `data:,${this.#word}x${this.marked.size}`;
    const parts = this.#layers[layer]!.document.skeleton.partsAt([...path, 'inline'])!;
    this.marked.set(source, { layer, path, parts });
    return { source, compression: this.#compression };
  }
}

/** A layer on top may have replaced some of what was marked: that is no gap any more. */
function gapsIn({ storage }: IgnitionConfig, marked: ReadonlyMap<string, Marked>): ContentsGap[] {
  return (storage?.files ?? []).flatMap(({ contents, append = [] }, file) =>
    [contents, ...append].flatMap((resource, at) => {
      const found = marked.get(resource?.source ?? '');
      return found === undefined ? [] : [{ ...found, file, append: at === 0 ? undefined : at - 1 }];
    }),
  );
}

/** `undefined` when one of the values can't be a part of text, which is to be said with its place. */
function joinedOrNot(parts: Parts, values: readonly unknown[]): string | undefined {
  try {
    return joined(parts, values);
  } catch (error) {
    if (error instanceof FillError) return undefined;
    throw error;
  }
}
