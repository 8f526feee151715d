import type { Path } from '../document/yaml.ts';
import type { Hole } from '../templating/holes.ts';
import { newMark } from '../templating/placeholder.ts';
import type { DataUrl, DataUrls } from './butane/data-url.ts';
import type { FilesReader } from './butane/files.ts';
import { type Layer, layTogether, MAX_CONFIG_BYTES } from './layers.ts';
import type { File, IgnitionConfig, Resource } from './spec/schema.ts';

/**
 * A configuration without the contents of some of its files. Hosts of a kind differ in these contents (a name, a token,
 * an address) and in little else, and Ignition asks no more of contents than that their URL can be decoded. So what
 * takes long, which is to translate, to merge and to check, is done once for all of them.
 */
export interface Outline {
  /** With marks in place of those contents. */
  config: IgnitionConfig;
  bytes: number;
  gaps: readonly Gap[];
}

/** Contents that differ: where they are written, and where they go. */
interface Gap extends Marked {
  file: number;
  /** Which of the file's additions; `undefined` for what it starts with. */
  append: number | undefined;
}

interface Marked {
  layer: number;
  /** Of the resource, in the document of the layer. */
  path: Path;
  mark: DataUrl;
}

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
  const outline = outlineWith('', layers, options);
  if (outline === undefined || outline.isWhole) return outline;
  // What replaces contents by Ignition's rules inherits their compression, unless it says its own.
  const other = outlineWith('gzip', layers, options);
  return other !== undefined && isSame(outline, other, layers) ? outline : undefined;
}

function outlineWith(
  compression: '' | 'gzip',
  layers: readonly Layer[],
  { files, dataUrls }: OutlineOptions,
): (Outline & { isWhole: boolean }) | undefined {
  const marker = new Marker(layers, dataUrls, compression);
  const laid = layTogether(layers, { files, dataUrlsFor: marker.dataUrlsFor });
  // Contents that were not asked for went another way than this knows, and are those of one host.
  if ('problems' in laid || !marker.isDone) return undefined;
  const gaps = gapsIn(laid.config, marker.marked);
  return { ...laid, gaps, isWhole: gaps.length === marker.marked.size };
}

function isSame(one: Outline, other: Outline, layers: readonly Layer[]): boolean {
  const nothing: DataUrls = { of: () => ({ source: 'data:,', compression: '' }) };
  const [a, b] = [one, other].map((outline) => JSON.stringify(fillOutline(outline, layers, nothing)));
  return a === b;
}

/** The whole configuration; `undefined` when it is too large. */
export function fillOutline(
  { config, bytes, gaps }: Outline,
  layers: readonly Layer[],
  dataUrls: DataUrls,
): IgnitionConfig | undefined {
  if (gaps.length === 0) return config;
  const files = [...config.storage!.files!];
  let size = bytes;
  for (const { layer, path, mark, file, append } of gaps) {
    const url = dataUrls.of(inlineAt(layers[layer]!.document.value, path), path);
    size += lengthOf(url) - lengthOf(mark);
    files[file] = withContents(files[file]!, append, url as Resource);
  }
  return size > MAX_CONFIG_BYTES ? undefined : { ...config, storage: { ...config.storage, files } };
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
    const mark: DataUrl = { source, compression: this.#compression };
    this.marked.set(mark.source, { layer, path, mark });
    return mark;
  }
}

/** A layer on top may have replaced some of what was marked: that is no gap any more. */
function gapsIn({ storage }: IgnitionConfig, marked: ReadonlyMap<string, Marked>): Gap[] {
  return (storage?.files ?? []).flatMap(({ contents, append = [] }, file) =>
    [contents, ...append].flatMap((resource, at) => {
      const found = marked.get(resource?.source ?? '');
      return found === undefined ? [] : [{ ...found, file, append: at === 0 ? undefined : at - 1 }];
    }),
  );
}

function withContents(file: File, append: number | undefined, url: Resource): File {
  if (append === undefined) return { ...file, contents: { ...file.contents, ...url } };
  return { ...file, append: file.append!.map((old, at) => (at === append ? { ...old, ...url } : old)) };
}

function inlineAt(document: unknown, path: Path): string {
  let node = document;
  for (const step of path) node = (node as Record<string | number, unknown>)[step];
  return (node as { inline: string }).inline;
}

/** Of ASCII that JSON has no escapes for. */
function lengthOf({ source, compression = '' }: DataUrl): number {
  return source.length + compression.length;
}
