/** What a machine does with the menu it was given. */
export type MenuOrder =
  /** Load these and start them. */
  | { do: 'boot'; kernelUrl: string; initrdUrls: string[]; arguments: string[] }
  /** Ask for another script, after a while. */
  | { do: 'chain'; url: string; afterSeconds: number }
  /** Start over, after a while. */
  | { do: 'reboot'; afterSeconds: number }
  /** Boot what is on its own disk. */
  | { do: 'local' };

export interface ReadMenu {
  /** What it says to people. */
  title: string;
  order: MenuOrder;
}

export class MenuFault extends Error {}

/** Where the configuration is, by the kernel's arguments. */
export function configUrlOf(kernelArguments: readonly string[]): string | undefined {
  const key = 'ignition.config.url=';
  return kernelArguments.find((argument) => argument.startsWith(key))?.slice(key.length);
}

/** The token of a boot, by any of its URLs: `/boot/<token>/…`. */
export function tokenOf(url: string): string | undefined {
  return /\/boot\/([\w-]{22})\//.exec(url)?.[1];
}
