import type { Reporter, TestCase } from 'vitest/node';

/** Names the tests that passed only when they were tried again: each has a fault, in itself or in the product. */
export default class SecondTries implements Reporter {
  readonly #found: string[] = [];

  onTestCaseResult(test: TestCase): void {
    if (!test.diagnostic()?.flaky) return;
    const errors = (test.result().errors ?? []).map(({ message }) => `\n  ${message}`);
    this.#found.push(`${test.module.relativeModuleId} > ${test.fullName}${errors.join('')}`);
  }

  onTestRunEnd(): void {
    for (const one of this.#found) console.log(`PASSED ONLY AT THE SECOND TRY: ${one}`);
  }
}
