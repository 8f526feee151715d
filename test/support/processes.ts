import { readdirSync, readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';

/** What the processes below one were started with: arguments and environments, by `name pid`. Looks again and again. */
export class ProcessWatch {
  readonly seen: Record<string, string> = {};
  readonly #timer: NodeJS.Timeout;

  constructor(root: number, everyMs = 20) {
    this.#timer = setInterval(() => this.#look(root), everyMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #look(root: number): void {
    for (const pid of descendantsOf(root)) {
      const started = `${read(pid, 'cmdline')}\n${read(pid, 'environ')}`.replaceAll('\0', ' ');
      // Between fork and exec it is still what its parent is.
      if (started !== '\n') this.seen[`process ${pid}: ${read(pid, 'comm').trim()}`] = started;
    }
  }
}

/** `script` starts a shell, which may start the command. */
export async function lastDescendant(pid: number): Promise<number> {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8');
  const [child] = children
    .trim()
    .split(' ')
    .filter((text) => text !== '');
  return child === undefined ? pid : lastDescendant(Number(child));
}

function descendantsOf(root: number): number[] {
  const parents = readdirSync('/proc').flatMap((name) => {
    const parent = /^\d+$/.test(name) ? /^PPid:\t(\d+)/m.exec(read(Number(name), 'status'))?.[1] : undefined;
    return parent === undefined ? [] : [{ pid: Number(name), parent: Number(parent) }];
  });
  const below = (parent: number): number[] =>
    parents.filter((one) => one.parent === parent).flatMap(({ pid }) => [pid, ...below(pid)]);
  return below(root);
}

/** Of one that is gone, nothing. */
function read(pid: number, file: string): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1');
  } catch {
    return '';
  }
}
