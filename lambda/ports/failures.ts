import type { Failure } from '../domain/failure.ts';

/** What failed last, of all tenants: a few, for the operator. Nothing is decided by it. */
export interface Failures {
  /** Notes one beside those that are kept, as `withFailureNoted` says. @throws {LedgerUnavailableError} */
  note(failure: Failure): Promise<void>;
  /** The newest first. @throws {LedgerUnavailableError} */
  list(): Promise<readonly Failure[]>;
}
