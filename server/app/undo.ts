/** What was started, to be stopped in the opposite order. */
export class UndoList {
  readonly #steps: (() => unknown)[] = [];

  add(step: () => unknown): void {
    this.#steps.push(step);
  }

  /** One that fails keeps none of the others from being stopped. */
  async run(onFault: (error: unknown) => void): Promise<void> {
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step();
      } catch (error) {
        onFault(error);
      }
    }
  }
}
