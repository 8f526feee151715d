import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** The kernel counts time in hundredths of a second for us, whatever it uses itself. */
const TICKS_PER_SECOND = 100;

/**
 * What a server uses. Some fork for each transfer and never ask what their children took; only a control group knows.
 */
export class Usage {
  readonly #pid: number;
  #group: string | undefined;

  constructor(pid: number) {
    this.#pid = pid;
    const mount = /^\S+ (\S+) cgroup2 /m.exec(readFileSync('/proc/mounts', 'utf8'))?.[1];
    if (mount === undefined) return;
    const group = join(mount, `railhead-bench-${pid}`);
    try {
      mkdirSync(group);
      this.#group = group;
      writeFileSync(join(group, 'cgroup.procs'), String(pid));
    } catch {
      this.end(); // no right to it
    }
  }

  /** Seconds; without a control group, of the process alone. */
  get cpuSeconds(): number {
    const text = this.#group === undefined ? undefined : read(join(this.#group, 'cpu.stat'));
    if (text !== undefined) return Number(/^usage_usec (\d+)/m.exec(text)?.[1]) / 1e6;
    // The name of the program, in parentheses, may have spaces.
    const fields = read(`/proc/${this.#pid}/stat`)?.split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
  }

  /** Bytes of memory, with children; what processes share counts once. */
  get memory(): number {
    return [this.#pid, ...childrenOf(this.#pid)].reduce((total, pid) => total + memoryOf(pid), 0);
  }

  /** When its processes are gone. */
  end(): void {
    if (this.#group === undefined) return;
    try {
      rmdirSync(this.#group);
    } catch {
      // It does no harm.
    }
    this.#group = undefined;
  }
}

/** Seconds that all processors together were busy since the machine started. */
export function machineBusySeconds(): number {
  const [, user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = readFileSync(
    '/proc/stat',
    'utf8',
  )
    .split('\n')[0]!
    .split(/\s+/)
    .map(Number);
  return (user + nice + system + irq + softirq + steal) / TICKS_PER_SECOND;
}

function childrenOf(pid: number): number[] {
  return (read(`/proc/${pid}/task/${pid}/children`) ?? '').split(' ').filter(Boolean).map(Number);
}

function memoryOf(pid: number): number {
  return Number(/^Pss:\s+(\d+) kB/m.exec(read(`/proc/${pid}/smaps_rollup`) ?? '')?.[1] ?? 0) * 1024;
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined; // it has ended
  }
}
