import type { Table } from '../../lambda/core/table/requests.ts';

/** What invocations run of a subject. */
export interface SubjectCode {
  /** What they call: part of `code`. */
  readonly code: object;
  /** Its stores, by their names in `Deps`, on the table as one function sees it. */
  readonly stores: (table: Table) => object;
  /** What it sends to, by their names in `Deps`: the world's `sendJobs` gets it. */
  readonly queues?: readonly string[];
}
