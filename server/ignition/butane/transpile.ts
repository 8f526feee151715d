import { didYouMean } from '../../document/nearest.ts';
import { hasErrors, type Problem, quote, sortProblems } from '../../document/problem.ts';
import { isRecord, show } from '../../document/shape.ts';
import type { YamlDocument } from '../../document/yaml.ts';
import type { IgnitionConfig } from '../spec/schema.ts';
import { validateIgnition } from '../validate.ts';
import { DataUrlCache, type DataUrls } from './data-url.ts';
import { type FilesReader, NO_FILES } from './files.ts';
import { isObject, type JsonObject, objectsIn } from './json.ts';
import { Melting } from './melt.ts';
import { Origins } from './origins.ts';
import { Report } from './report.ts';
import { type ButaneVersion, SPEC_OF } from './schema.ts';
import { translateStruct } from './translate.ts';
import { plantTrees } from './trees.ts';

export interface TranspileOptions {
  /** Where `local`, `trees` and their kin read from; nowhere, unless told. */
  files?: FilesReader;
  /** Kept between documents, it saves compressing the same contents again. */
  dataUrls?: DataUrls;
  /** `false` for one of several configs that are merged and checked as a whole; checking takes most of the time. */
  validate?: boolean;
}

export interface Transpiled {
  /** `undefined` when there are errors. */
  config: IgnitionConfig | undefined;
  /** Errors and warnings, by place. */
  problems: Problem[];
}

/** Makes an Ignition config of a Butane document (variant flatcar, 1.0.0 or 1.1.0), and checks it as Ignition would. */
export function transpileButane(document: YamlDocument, options: TranspileOptions = {}): Transpiled {
  const report = new Report(document);
  const config = translateDocument(document, report, options);
  const problems = sortProblems(report.problems);
  return { config: hasErrors(problems) ? undefined : (config as IgnitionConfig | undefined), problems };
}

function translateDocument(
  document: YamlDocument,
  report: Report,
  options: TranspileOptions,
): JsonObject | undefined {
  const { files = NO_FILES, dataUrls = new DataUrlCache(), validate = true } = options;
  const version = readVersion(document, report);
  if (version === undefined) return undefined;
  const origins = new Origins();
  const contents = { files, dataUrls, report, spec: SPEC_OF[version] };
  const melting = new Melting(contents);
  const context = { document, version, report, origins, finish: melting.finish };
  const root = translateStruct('root', document.value, [], context);
  const ignition = isObject(root.ignition) ? root.ignition : {};
  const config: JsonObject = { ...root, ignition: { version: SPEC_OF[version], ...ignition } };
  addMountUnits(config, melting, origins);
  if (melting.trees.length > 0) {
    const storage = isObject(config.storage) ? config.storage : {};
    plantTrees(melting.trees, storage, contents, origins);
    if (Object.keys(storage).length > 0) config.storage = storage;
  }
  if (validate && !hasErrors(report.problems)) checkConfig(config, origins, report);
  return config;
}

function readVersion(document: YamlDocument, report: Report): ButaneVersion | undefined {
  const { value } = document;
  if (!isRecord(value)) {
    report.error(
      [],
      `expected a Butane document (a mapping with "variant" and "version"), got ${show(value)}`,
    );
    return undefined;
  }
  if (value.variant !== 'flatcar') {
    const message =
      value.variant === undefined
        ? '"variant" is missing; write "variant: flatcar"'
        : `expected "flatcar", got ${show(value.variant)}${didYouMean(String(value.variant), ['flatcar'])}`;
    report.error(value.variant === undefined ? [] : ['variant'], message);
    return undefined;
  }
  const version = value.version;
  if (typeof version === 'string' && Object.hasOwn(SPEC_OF, version)) return version as ButaneVersion;
  const known = Object.keys(SPEC_OF).join(' or ');
  if (version === undefined) report.error([], `"version" is missing; write "version: 1.0.0"`);
  else
    report.error(
      ['version'],
      `expected ${known}, got ${typeof version === 'string' ? quote(version) : show(version)}`,
    );
  return undefined;
}

/** Units for mounts come first; one that the author wrote himself goes over the one of the same name. */
function addMountUnits(config: JsonObject, melting: Melting, origins: Origins): void {
  if (melting.mountUnits.length === 0) return;
  const systemd = isObject(config.systemd) ? config.systemd : {};
  const own = objectsIn(systemd.units);
  const names = new Set(melting.mountUnits.map(({ unit }) => unit.name));
  const generated = melting.mountUnits.map(({ unit, path }) => {
    const over = own.findLast(({ name }) => name === unit.name);
    const merged = { ...unit, ...over };
    origins.set(merged, path);
    return merged;
  });
  config.systemd = { ...systemd, units: [...generated, ...own.filter(({ name }) => !names.has(name!))] };
}

function checkConfig(config: JsonObject, origins: Origins, report: Report): void {
  for (const { severity, path, message } of validateIgnition(config)) {
    // Of odd modes we have spoken, in octal as one writes them here.
    if (severity === 'warning' && path.endsWith('.mode')) continue;
    report[severity](origins.of(config, path), message);
  }
}
