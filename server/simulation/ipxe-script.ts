import { MenuFault, type MenuOrder, type ReadMenu } from './menu.ts';

/** What `${…}` stands for in a script, such as `netX/mac`. */
export type IpxeSettings = Readonly<Record<string, string>>;

/**
 * Follows an iPXE script to the first thing that it really does, as if every command before went well. `${name:type}` is
 * taken from the settings; `uristring` is escaped.
 */
export function readIpxe(text: string, settings: IpxeSettings): ReadMenu {
  if (!text.startsWith('#!ipxe')) throw new MenuFault('the script does not start with #!ipxe');
  let title = '';
  let seconds = 0;
  let kernel: { url: string; arguments: string[] } | undefined;
  const initrdUrls: string[] = [];
  for (const line of text.split('\n')) {
    // What follows `||` is for when it fails.
    const [command = '', ...words] = expand(line, settings).split('||', 1)[0]!.trim().split(/\s+/);
    const operands = operandsOf(command, words);
    switch (command) {
      case 'echo':
        title ||= words.join(' ');
        break;
      case 'sleep':
        seconds += Number(words[0]) || 0;
        break;
      case 'kernel': {
        const [url, ...rest] = operands;
        if (url !== undefined) kernel = { url, arguments: rest };
        break;
      }
      case 'initrd':
        if (operands[0] !== undefined) initrdUrls.push(operands[0]);
        break;
      case 'boot':
        if (kernel === undefined) throw new MenuFault('the script boots without a kernel');
        return order({ do: 'boot', kernelUrl: kernel.url, initrdUrls, arguments: kernel.arguments });
      case 'chain':
        if (operands[0] === undefined) throw new MenuFault('the script chains to nothing');
        return order({ do: 'chain', url: operands[0], afterSeconds: seconds });
      case 'reboot':
        return order({ do: 'reboot', afterSeconds: seconds });
      // Whichever way `iseq` goes, it is its own disk that follows.
      case 'iseq':
      case 'exit':
      case 'sanboot':
        return order({ do: 'local' });
    }
  }
  throw new MenuFault('the script comes to its end without booting anything');

  function order(what: MenuOrder): ReadMenu {
    return { title, order: what };
  }
}

/** Options that take a value; the others stand alone. */
const WITH_VALUE: Readonly<Record<string, readonly string[]>> = {
  initrd: ['--name', '-n', '--timeout', '-t'],
  kernel: ['--name', '-n', '--timeout', '-t'],
  chain: ['--name', '-n', '--timeout', '-t'],
};

function operandsOf(command: string, words: readonly string[]): string[] {
  let at = 0;
  while (words[at]?.startsWith('-')) at += WITH_VALUE[command]?.includes(words[at]!) ? 2 : 1;
  return words.slice(at);
}

function expand(line: string, settings: IpxeSettings): string {
  return line.replaceAll(/\$\{([^}:]+)(?::([^}]+))?\}/g, (_, name: string, type?: string) => {
    const value = settings[name] ?? '';
    return type === 'uristring' ? encodeURIComponent(value) : value;
  });
}
