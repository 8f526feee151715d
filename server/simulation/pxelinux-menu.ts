import { MenuFault, type MenuOrder, type ReadMenu } from './menu.ts';

interface Label {
  kernel?: string;
  initrds: string[];
  append: string[];
  isLocal: boolean;
}

/** Reads as much of a pxelinux configuration as is needed to boot by its default. */
export function readPxelinux(text: string): ReadMenu {
  const labels = new Map<string, Label>();
  let label: Label | undefined;
  let wanted: string | undefined;
  let title = '';
  let deciseconds = 0;
  for (const line of text.split('\n')) {
    const [, keyword = '', rest = ''] = /^\s*(\S+)\s*(.*?)\s*$/.exec(line) ?? [];
    switch (keyword.toUpperCase()) {
      case 'DEFAULT':
        wanted = rest;
        break;
      case 'SAY':
        title = rest;
        break;
      case 'TIMEOUT':
        deciseconds = Number(rest) || 0;
        break;
      case 'LABEL':
        label = { initrds: [], append: [], isLocal: false };
        labels.set(rest, label);
        break;
      case 'KERNEL':
      case 'LINUX':
        if (label !== undefined) label.kernel = rest;
        break;
      case 'INITRD':
        label?.initrds.push(...rest.split(','));
        break;
      case 'APPEND':
        label?.append.push(...rest.split(/\s+/));
        break;
      case 'LOCALBOOT':
        if (label !== undefined) label.isLocal = true;
        break;
    }
  }
  const chosen = labels.get(wanted ?? '');
  if (chosen === undefined) throw new MenuFault(`the menu has no label "${wanted ?? ''}"`);
  return { title, order: orderOf(chosen, deciseconds / 10) };
}

function orderOf({ kernel, initrds, append, isLocal }: Label, timeoutSeconds: number): MenuOrder {
  if (isLocal) return { do: 'local' };
  if (kernel === undefined) throw new MenuFault('the label of the menu has no KERNEL');
  if (/(^|\/)reboot\.c32$/.test(kernel)) return { do: 'reboot', afterSeconds: timeoutSeconds };
  return { do: 'boot', kernelUrl: kernel, initrdUrls: initrds, arguments: append };
}
