import { type Failure, withFailureNoted } from '../../../lambda/domain/failure.ts';
import type { Failures } from '../../../lambda/ports/failures.ts';

/** What failed last, in memory. */
export class MemoryFailures implements Failures {
  #failures: readonly Failure[] = [];

  async note(failure: Failure): Promise<void> {
    this.#failures = withFailureNoted(this.#failures, failure);
  }

  async list(): Promise<readonly Failure[]> {
    return this.#failures;
  }
}
