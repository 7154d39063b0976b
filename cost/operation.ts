import type { FunctionName } from '../lambda/routes.ts';

/**
 * What an operation takes: with 20 objects of a repo of 1,000, in a tenant that has four such repos.
 * `test/unit/cost/operations.test.ts` runs the handlers over a table in memory and measures exactly this.
 */
export interface Operation {
  readonly function: FunctionName;
  /** Units of the table. The writes include those of its indexes. */
  readonly reads: number;
  readonly writes: number;
  /** Requests to the store. */
  readonly heads: number;
  readonly lists: number;
  /** Requests that send messages to the FIFO queue. */
  readonly sends: number;
  /** Time that the function waits for table, store and queue if each request takes its {@link assumedMs}. */
  readonly waitMs: number;
  /** Objects that it asks the store for. */
  readonly objects: number;
}

/** What clients ask a subject, by its line in the model: how often, if that isn't said before its colon, and of which function. */
export type ClientRequests = Readonly<
  Record<string, { readonly per?: string; readonly of: FunctionName } & Partial<Omit<Operation, 'function'>>>
>;
