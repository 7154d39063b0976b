import { assumedDurations } from '../../cost/operation-cost.ts';
import type { Operation } from '../../cost/operations.ts';
import { recount } from '../../cost/operations.ts';

/** Tenants that are alike. */
export interface TenantKind {
  readonly name: string;
  /** Of all tenants. */
  readonly share: number;
  /** Between two pushes. Infinity: idle. */
  readonly pushEveryMs: number;
  /** Objects of each repo. */
  readonly repos: readonly number[];
}

const hourMs = 3_600_000;
const same = (count: number, objects: number) => Array.from({ length: count }, () => objects);

/** Who uses the stage. The giants are counted as ordinary tenants, without shards: the worst for the schedule. */
export const kinds: readonly TenantKind[] = [
  { name: 'idle', share: 0.79, pushEveryMs: Number.POSITIVE_INFINITY, repos: same(4, 1000) },
  { name: 'in use', share: 0.1999, pushEveryMs: 12 * hourMs, repos: same(4, 1000) },
  { name: 'busy', share: 0.01, pushEveryMs: hourMs, repos: same(2, 50_000) },
  { name: 'giant', share: 0.0001, pushEveryMs: hourMs, repos: [10_000_000] },
];

/** What a recount of a tenant of some kind takes. */
export interface RecountWork {
  readonly operation: Operation;
  readonly lists: number;
  readonly busyMs: number;
}

function workOf(operation: Operation): RecountWork {
  const { baseMs, tableRoundMs, listPageMs } = assumedDurations;
  const busyMs = baseMs + operation.tableRounds * tableRoundMs + operation.listRounds * listPageMs;
  return { operation, lists: operation.calls.LIST ?? 0, busyMs };
}

/** In full; of the repo that was pushed to; and of none, which deletes a dead reservation. */
export function worksOf(kind: TenantKind) {
  return {
    full: workOf(recount({ repos: kind.repos, isFull: true, dead: 0 })),
    push: workOf(recount({ repos: kind.repos.slice(0, 1), isFull: false, dead: 0 })),
    dead: workOf(recount({ repos: [], isFull: false, dead: 1 })),
  };
}
