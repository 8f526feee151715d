import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { formatProblem, type Problem } from '../../server/document/problem.ts';
import { noopDefinition } from '../../server/feed/transfer-definition.ts';
import { FileRefused, type FilesReader } from '../../server/ignition/butane/files.ts';
import { type Composed, composeConfig } from '../../server/ignition/compose.ts';
import { fileIn } from '../../server/ignition/config-file.ts';
import { ConfigRenderer, type RendererOptions } from '../../server/ignition/renderer.ts';
import { templateValues, type ValuesInput } from '../../server/ignition/values.ts';
import { InventoryIndex } from '../../server/inventory/index.ts';
import { TemplateFolders, templateFolders } from '../../server/templating/template-folders.ts';
import { TemplateSet } from '../../server/templating/template-set.ts';
import { inventoryOf, lab } from '../inventory/make.ts';
import { tempFolder } from '../support/temp.ts';

export const HEAD = 'variant: flatcar\nversion: 1.0.0\n';

/** Butane with these files, by path. */
export function filesButane(files: Readonly<Record<string, string>>): string {
  const entries = Object.entries(files).map(
    ([path, inline]) => `    - path: ${path}\n      contents: {inline: ${JSON.stringify(inline)}}\n`,
  );
  return `${HEAD}storage:\n  files:\n${entries.join('')}`;
}

const NO_FILES: FilesReader = {
  read: (path) => {
    throw new FileRefused(`there is no file "${path}"`);
  },
  walk: (path) => {
    throw new FileRefused(`there is no file "${path}"`);
  },
};

/** All templates given, one over the other. */
export function compose(
  templates: Readonly<Record<string, string | Uint8Array>>,
  {
    values = {},
    layers = Object.keys(templates),
  }: { values?: Record<string, unknown>; layers?: string[] } = {},
): Composed {
  const set = new TemplateSet(new Map(Object.entries(templates)));
  return composeConfig({ set, files: NO_FILES }, layers, values);
}

/** What is wrong, as people see it; nothing, if nothing is. */
export function faultsOf(composed: { problems: Problem[] } | object): string[] {
  return 'problems' in composed ? composed.problems.map(formatProblem) : [];
}

/** The text of one file. */
export function textIn(composed: Composed, path: string): string | undefined {
  if ('problems' in composed) throw new Error(faultsOf(composed).join('\n'));
  return fileIn(composed.config, path)?.toString();
}

export const SERVER = { url: 'http://10.0.0.5:8080', httpsUrl: 'https://10.0.0.5:8443', ca: 'the CA\n' };
export const FEED = { keyring: Buffer.from('keys'), noop: noopDefinition() };

/** All values for one host of an inventory: n1, unless told. */
export function valuesFor(
  text: string,
  { name = 'n1', ...more }: Partial<ValuesInput> & { name?: string } = {},
): Record<string, unknown> {
  const inventory = inventoryOf(text);
  const host = inventory.hosts.find((entry) => entry.name === name)!;
  return templateValues({
    host,
    cluster: inventory.clusters.find((entry) => entry.name === host.cluster),
    purpose: 'system',
    server: SERVER,
    sysexts: [],
    feed: FEED,
    wipe: false,
    secrets: undefined,
    ...more,
  });
}

export interface RendererWorld {
  renderer: ConfigRenderer;
  /** A person's own templates folder. */
  own: string;
  /** Writes a file there, and lets so much time pass that it is seen. */
  write: (name: string, content: string | Uint8Array) => Promise<void>;
  /** Lets time pass. */
  later: () => void;
  host: (name?: string) => NonNullable<ReturnType<InventoryIndex['host']>>;
  inventory: { index: InventoryIndex; revision: string | undefined };
}

/** A renderer over the built-in templates, a person's own, and an inventory. */
export async function rendererFor(
  text = lab(),
  options: Partial<RendererOptions> = {},
): Promise<RendererWorld> {
  const own = await tempFolder();
  const inventory: RendererWorld['inventory'] = {
    index: new InventoryIndex(inventoryOf(text)),
    revision: 'one',
  };
  let now = 0;
  const later = (): void => {
    now += 1000;
  };
  const renderer = new ConfigRenderer({
    inventory: () => inventory,
    templates: new TemplateFolders({ now: () => now, folders: templateFolders(own) }),
    server: () => SERVER,
    readSecret: (reference) => `secret of ${JSON.stringify(reference)}`,
    sysextsOf: async () => [],
    feed: async () => FEED,
    ...options,
  });
  return {
    renderer,
    own,
    later,
    inventory,
    host: (name = 'n1') => inventory.index.host(name)!,
    write: async (name, content) => {
      await mkdir(dirname(join(own, name)), { recursive: true });
      await writeFile(join(own, name), content);
      later();
    },
  };
}
