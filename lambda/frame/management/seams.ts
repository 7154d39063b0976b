import type { RepoPath, RepoRecord, TenantRecord } from '../../core/ledger/rules/tenant.ts';
import type { AuditTrail } from '../access/audit.ts';
import type { AuditEntry } from '../access/rules/audit.ts';
import type { Refusal } from '../api/http.ts';

/** What subjects add to answers of the frame. Each function lists those that it serves. */
export interface ManagementPorts {
  readonly repoParts: readonly RepoPart[];
  readonly subscriptionParts: readonly SubscriptionPart[];
  readonly auditParts: readonly AuditPart[];
}

/** Fields of an answer, as the subject's contract says them. */
export type Fields = Readonly<Record<string, unknown>>;

/** What a subject adds to the answers about repos. @throws {LedgerUnavailableError} from each. */
export interface RepoPart {
  /**
   * Asked beside the read of a page of repos, or of all of them for a subscription.
   *
   * @returns what it says of one. undefined: nothing. A repo of which something is said is shown, though it's empty.
   */
  readonly ofMany?: (input: {
    tenant: string;
    in: 'page' | 'subscription';
  }) => Promise<(record: RepoRecord) => Fields | undefined>;
  /** Asked beside the read of one. @returns undefined: nothing, whatever its record. */
  readonly ofOne?: (
    path: RepoPath,
  ) => Promise<((record: RepoRecord) => Promise<Fields | undefined> | Fields | undefined) | undefined>;
  /**
   * What else is said of repos that are shown.
   *
   * @param input.records of those that have one. @param input.asked the query of a page. undefined: one repo is asked for.
   * @returns by name.
   */
  readonly ofShown?: (input: {
    tenant: string;
    repos: readonly string[];
    records: readonly RepoRecord[];
    asked: Fields | undefined;
  }) => Promise<ReadonlyMap<string, Fields>>;
  /**
   * Finds out whether what a change asks of it may be written. Nothing is written yet.
   *
   * @returns undefined: nothing is asked of it.
   */
  readonly prepare?: (input: RepoChange) => Promise<PreparedChange | undefined>;
}

export interface RepoChange {
  readonly tenant: TenantRecord;
  readonly repo: string;
  readonly body: Fields;
  readonly isAdmin: boolean;
  readonly trail: AuditTrail;
}

/** What may be written, or why not. */
export type PreparedChange = { readonly write: () => Promise<void> } | { readonly refusal: Refusal };

/**
 * What a subject adds to a subscription. Asked beside the read of the tenant.
 *
 * @returns what it says once the tenant is counted. @throws {LedgerUnavailableError}
 */
type SubscriptionPart = (input: {
  tenant: string;
  nowMs: number;
}) => Promise<(counted: TenantRecord, isShown: (repo: string) => boolean) => Fields>;

/** What a subject knows now of entries of the audit log. @throws {LedgerUnavailableError} */
export type AuditPart = (input: {
  tenant: string;
  entries: readonly AuditEntry[];
}) => Promise<readonly AuditEntry[]>;
