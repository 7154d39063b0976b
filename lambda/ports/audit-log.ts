import type { AuditEntry } from '../domain/audit.ts';
import { LedgerUnavailableError } from './ledger.ts';

/** Who did what to a tenant. An entry is written twice: before its action as begun, and after it with what came of it. */
export interface AuditLog {
  /** Writes an entry before its action. One that is there already stays. @throws {LedgerUnavailableError} */
  begin(entry: AuditEntry): Promise<void>;
  /** Replaces an entry that was begun. @throws {LedgerUnavailableError} */
  finish(entry: AuditEntry): Promise<void>;
  /**
   * A page of a tenant's entries, the newest first. Strongly consistent.
   *
   * @param input.fromMs the first moment, and `untilMs` the one after the last.
   * @param input.before `next` of the page before.
   * @throws {LedgerUnavailableError}
   */
  list(input: {
    tenant: string;
    fromMs: number;
    untilMs: number;
    pageSize: number;
    before?: string;
  }): Promise<{ readonly entries: readonly AuditEntry[]; readonly next: string | null }>;
}

/** An action was not begun, because nobody could write down that it was. */
export class AuditUnavailableError extends LedgerUnavailableError {}
