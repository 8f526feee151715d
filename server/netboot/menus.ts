import { formatProblem } from '../document/problem.ts';
import { RailheadError } from '../errors.ts';
import type { HostSpec } from '../inventory/model.ts';
import { renderText } from '../templating/render-text.ts';
import type { TemplateFolders } from '../templating/template-folders.ts';

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

/**
 * Renders a menu; `template` names another one than the usual of its kind. A value that brings a line of its own
 * would be a command to the boot loader: such a one is refused.
 */
export function renderMenu(
  templates: TemplateFolders,
  kind: MenuKind,
  input: MenuInput,
  template: string = kind,
): string {
  const rendered = renderText(templates.current().set, `menus/${template}.hbs`, viewOf(input));
  if ('text' in rendered) return tidy(rendered.text);
  throw new RailheadError('RH_TEMPLATE_FAILED', rendered.problems.map(formatProblem).join('\n'));
}

function viewOf({ title, what }: MenuInput): Record<string, unknown> {
  // Every name that a template may use, whatever the answer is: one that is misspelt fails at once.
  const view = {
    title: harmless(title),
    boots: false,
    waits: false,
    sanboot: false,
    exits: false,
    localBoot: -1,
    kernelUrl: '',
    initrdUrl: '',
    kernelPath: '',
    initrdPath: '',
    initrdName: '',
    arguments: '',
    seconds: 0,
    deciseconds: 0,
    againUrl: '',
  };
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
      arguments: kernelArguments.join(' '),
    };
  }
  if ('waits' in what) {
    const { waits: seconds, againUrl } = what;
    return { ...view, waits: true, seconds, deciseconds: seconds * 10, againUrl };
  }
  const { local } = what;
  return {
    ...view,
    sanboot: local === 'sanboot',
    exits: local === 'exit',
    localBoot: local === 'localboot' ? 0 : -1,
  };
}

/** A title is for the screen: what any of the boot loaders' languages could take for more than text is left out. */
function harmless(title: string): string {
  return title.replaceAll(/[^\w .,:;/()+=@-]/g, '');
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

/** Without the empty lines that conditions leave behind. */
function tidy(text: string): string {
  return `${text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .join('\n')}\n`;
}
