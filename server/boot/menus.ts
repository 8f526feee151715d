import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import Handlebars from 'handlebars';
import { RailheadError } from '../errors.ts';
import type { HostSpec } from '../inventory/model.ts';

export const MENU_KINDS = ['pxelinux', 'ipxe', 'grub'] as const;
export type MenuKind = (typeof MENU_KINDS)[number];

/** What a menu has to say, whatever language it says it in. */
export interface MenuInput {
  /** One line for the screen of the machine. */
  title: string;
  what:
    | { boots: true; baseUrl: string; token: string; initrdName: string; kernelArguments: readonly string[] }
    | { waits: number; againUrl: string }
    | { local: HostSpec['localBoot'] };
}

/** Longer ones don't fit the buffers of boot loaders. */
const MAX_URL = 120;

/** Menus from the templates in a folder; a file that changes is taken as it is now. */
export class Menus {
  readonly #dir: string;
  readonly #compiled = new Map<string, { changed: number; render: (view: object) => string }>();

  constructor(templatesDir: string) {
    this.#dir = join(templatesDir, 'menus');
  }

  render(kind: MenuKind, input: MenuInput, template = kind as string): string {
    const file = join(this.#dir, `${template}.hbs`);
    try {
      return tidy(this.#load(file)(viewOf(input)));
    } catch (error) {
      if (error instanceof RailheadError) throw error;
      throw new RailheadError('RH_TEMPLATE_FAILED', `${file}${placeOf(error)}`, { cause: error });
    }
  }

  #load(file: string): (view: object) => string {
    const changed = statSync(file).mtimeMs;
    const known = this.#compiled.get(file);
    if (known?.changed === changed) return known.render;
    const render = Handlebars.create().compile(readFileSync(file, 'utf8'), { strict: true, noEscape: true });
    this.#compiled.set(file, { changed, render });
    return render;
  }
}

function viewOf({ title, what }: MenuInput): Record<string, unknown> {
  const view = { title: oneLine(title), boots: false, waits: false, sanboot: false, exits: false };
  if ('boots' in what) {
    const base = `${what.baseUrl}/boot/${what.token}`;
    const kernelUrl = bounded(`${base}/kernel`);
    const initrdUrl = bounded(`${base}/initrd/${what.initrdName}`);
    const kernelArguments = [
      'flatcar.first_boot=1',
      `ignition.config.url=${bounded(`${base}/pointer.ign`)}`,
      ...what.kernelArguments,
    ];
    return {
      ...view,
      boots: true,
      kernelUrl,
      initrdUrl,
      kernelPath: grubPath(kernelUrl),
      initrdPath: grubPath(initrdUrl),
      initrdName: what.initrdName,
      arguments: kernelArguments.map(oneLine).join(' '),
    };
  }
  if ('waits' in what) {
    return {
      ...view,
      waits: true,
      seconds: what.waits,
      deciseconds: what.waits * 10,
      againUrl: what.againUrl,
    };
  }
  const { local } = what;
  return {
    ...view,
    sanboot: local === 'sanboot',
    exits: local === 'exit',
    localBoot: local === 'localboot' ? 0 : -1,
  };
}

/** GRUB's spelling of a URL: `(http,10.0.0.5:8080)/boot/…`. */
function grubPath(url: string): string {
  const { host, pathname } = new URL(url);
  return `(http,${host})${pathname}`;
}

function bounded(url: string): string {
  if (url.length < MAX_URL) return url;
  throw new RailheadError(
    'RH_TEMPLATE_FAILED',
    `The URL ${url} has ${url.length} characters; boot loaders take ${MAX_URL}.`,
    {
      hint: 'Advertise a shorter address with --advertise.',
    },
  );
}

/** A value that brings a line of its own would be a command to the boot loader. */
function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (!/[\x00-\x1f\x7f]/.test(text)) return text;
  throw new RailheadError(
    'RH_TEMPLATE_FAILED',
    `A value for a menu has control characters: ${JSON.stringify(text)}`,
  );
}

/** Where Handlebars stumbled, as `:line:col: why`. It tells the place in the text, in one of two ways. */
function placeOf(error: unknown): string {
  const message = (error as Error).message.replaceAll(/\s*\n\s*/g, ' ');
  const [, why, line, column] = /^(.*) - (\d+):(\d+)$/.exec(message) ?? [];
  const said = why?.replace(/ not defined in .*$/, ' is not among the values that a menu is given');
  if (line !== undefined) return `:${line}:${Number(column) + 1}: ${said}`;
  const parse = /^Parse error on line (\d+): (.*)$/.exec(message);
  return parse === null ? `: ${message}` : `:${parse[1]}: ${parse[2]}`;
}

/** Without the empty lines that conditions leave behind. */
function tidy(text: string): string {
  return `${text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .join('\n')}\n`;
}
