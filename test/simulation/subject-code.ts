import type { Table } from '../../lambda/core/table/requests.ts';

/** What invocations run of a subject. */
export interface SubjectCode {
  /** What they call: part of `code`. */
  readonly code: object;
  /**
   * Its stores, by their names in `Deps`, on the table as one function sees it.
   *
   * @param world.inParts whether files are uploaded in parts.
   */
  readonly stores: (table: Table, world: { readonly inParts: boolean }) => object;
  /** What it sends to, by their names in `Deps`: the world's `sendJobs` gets it. */
  readonly queues?: readonly string[];
}
