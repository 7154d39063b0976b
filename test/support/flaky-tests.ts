import type { Reporter, TestCase } from 'vitest/node';

/** Names at the end each test that failed at first and passed when it was tried again: it is to be looked into. */
export class FlakyTests implements Reporter {
  readonly #names: string[] = [];

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky) this.#names.push(`${test.module.relativeModuleId} > ${test.fullName}`);
  }

  onTestRunEnd(): void {
    for (const name of this.#names) process.stdout.write(`FLAKY  ${name}\n`);
  }
}
