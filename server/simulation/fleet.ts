import type { SimulatedHost } from './hosts.ts';
import { type MachineOptions, type Outcome, runMachine } from './machine.ts';
import { seeded } from './random.ts';
import type { MachineRecord, Traffic } from './summary.ts';

export interface FleetOptions extends Pick<MachineOptions, 'install' | 'tftp' | 'speed' | 'loss' | 'signal'> {
  hosts: readonly SimulatedHost[];
  seed: number;
  /** The address that a machine speaks from, by its number; without it, whichever fits. */
  addressOf?: ((index: number) => string) | undefined;
  now: () => number;
}

/** All machines of a simulation, at once, and what is seen of them. */
export class Fleet {
  readonly #options: FleetOptions;
  readonly #machines: MachineRecord[];
  readonly #traffic: Traffic = {
    tftp: { requests: 0, bytes: 0, retransmits: 0 },
    http: { requests: 0, bytes: 0 },
    retries: 0,
    missing: new Map(),
  };
  readonly #startedAt: number;

  constructor(options: FleetOptions) {
    this.#options = options;
    this.#startedAt = options.now();
    this.#machines = options.hosts.map(({ name, firmware }) => ({
      name,
      firmware,
      phase: 'firmware',
      seconds: 0,
      retries: 0,
      outcome: undefined,
    }));
  }

  /** Returns when the last one has come to its end. */
  async run(): Promise<void> {
    await Promise.all(this.#options.hosts.map((host, index) => this.#runOne(host, index)));
  }

  get machines(): readonly Readonly<MachineRecord>[] {
    return this.#machines;
  }

  get traffic(): Readonly<Traffic> {
    return this.#traffic;
  }

  /** Since they were switched on. */
  get seconds(): number {
    return (this.#options.now() - this.#startedAt) / 1000;
  }

  async #runOne(host: SimulatedHost, index: number): Promise<Outcome> {
    const { install, tftp, speed, loss, signal, seed, addressOf } = this.#options;
    const record = this.#machines[index]!;
    const traffic = this.#traffic;
    const outcome = await runMachine({
      host,
      install,
      tftp,
      speed,
      loss,
      signal,
      localAddress: addressOf?.(index),
      // Far apart: neighbouring seeds must not make neighbouring luck.
      random: seeded(seed + Math.imul(index + 1, 0x9e3779b1)),
      witness: {
        phase: (phase) => {
          record.phase = phase;
        },
        bytes: (by, count) => {
          traffic[by].bytes += count;
        },
        request: (by) => {
          traffic[by].requests++;
        },
        retransmits: (count) => {
          traffic.tftp.retransmits += count;
        },
        retried: () => {
          record.retries++;
          traffic.retries++;
        },
        missing: (file) => {
          traffic.missing.set(file, (traffic.missing.get(file) ?? 0) + 1);
        },
      },
    });
    record.outcome = outcome;
    record.seconds = this.seconds;
    return outcome;
  }
}
