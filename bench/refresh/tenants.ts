import { type Operation, operations, recountOf, runMs } from '../../cost/operations.ts';

/** Tenants that are alike. */
export interface TenantKind {
  readonly name: string;
  /** Of all tenants. */
  readonly share: number;
  /** Between two pushes. Infinity: idle. */
  readonly pushEveryMs: number;
  /** Repos, and objects of each. */
  readonly repos: { readonly count: number; readonly objects: number };
}

const hourMs = 3_600_000;

/** Who uses the stage. The giants are counted as ordinary tenants, without shards: the worst for the schedule. */
export const kinds: readonly TenantKind[] = [
  { name: 'idle', share: 0.79, pushEveryMs: Number.POSITIVE_INFINITY, repos: { count: 4, objects: 1000 } },
  { name: 'in use', share: 0.1999, pushEveryMs: 12 * hourMs, repos: { count: 4, objects: 1000 } },
  { name: 'busy', share: 0.01, pushEveryMs: hourMs, repos: { count: 2, objects: 50_000 } },
  { name: 'giant', share: 0.0001, pushEveryMs: hourMs, repos: { count: 1, objects: 10_000_000 } },
];

/** What a recount of a tenant of some kind takes. */
export interface RecountWork {
  readonly operation: Operation;
  readonly lists: number;
  readonly busyMs: number;
}

function workOf(operation: Operation): RecountWork {
  return { operation, lists: operation.lists, busyMs: runMs(operation) };
}

/** In full; of the repo that was pushed to; and of none, which deletes a dead reservation. */
export function worksOf({ repos: { count, objects } }: TenantKind) {
  return {
    full: workOf(recountOf(operations.fullCount, { count, objects })),
    push: workOf(recountOf(operations.recount, { count: 1, objects })),
    dead: workOf(operations.recountDead),
  };
}
