import { absent, exists } from '../table/expressions.ts';
import { getItem, methodsOn, pagesOf, putItem, type Table } from '../table/requests.ts';
import { byDueIndex, dueShards } from '../table/table.ts';
import { tenantOfPartition } from './items.ts';
import { type DueTenant, type RefreshState, refreshSchema } from './rules/reconcile-policy.ts';

/** How far the schedule has come: one item for all tenants, written once in each run. */
const refreshKey = { pk: 'SCHEDULE', sk: 'SCHEDULE' } as const;

/** Pages read of one partition of the index: one tenant may fill many with its lapsed reservations. */
const pagesMax = 20;

/** What a partition of the index has. */
interface PartitionDue {
  readonly due: readonly DueTenant[];
  /** What became due later was not read, and of what became due in this millisecond perhaps not all. */
  readonly readUntilMs: number;
}

/** Some of the tenants that are due. */
interface DueTenants {
  readonly due: readonly DueTenant[];
  /** Nobody else was found that became due until then. */
  readonly untilMs: number;
}

/** What the schedule reads and writes: who is due, and how far it has come. */
export function refreshMethods(table: Table) {
  return methodsOn(table, { dueTenants, readRefreshState, putRefreshState });
}

/**
 * Tenants that are due for a full count (`full`), or that have a reservation to look at, a due deletion or a closed
 * repo. Those due longest come first. A reservation is to be looked at when it is lapsed, a late one at its
 * `lookAtMs`, and a pending one when its batch must be lapsed.
 *
 * @param input.afterMs only those that became due after this.
 * @param input.untilMs … and until then.
 * @param input.tenantsMax as many at most, besides others that became due in the same millisecond.
 */
async function dueTenants(
  table: Table,
  input: { afterMs?: number; untilMs: number; tenantsMax: number },
): Promise<DueTenants> {
  // DynamoDB refuses a range that ends before it begins.
  if ((input.afterMs ?? -1) >= input.untilMs) return { due: [], untilMs: input.untilMs };
  const partitions = ['TENANT', 'RESERVATION', 'DELETION'].flatMap((kind) =>
    Array.from({ length: dueShards }, (_, shard) => `${kind}#${shard}`),
  );
  const found = await Promise.all(partitions.map((partition) => dueOfPartition(table, partition, input)));
  const readUntilMs = Math.min(...found.map((partition) => partition.readUntilMs));
  return longestDue(
    found.flatMap(({ due }) => due),
    { ...input, readUntilMs },
  );
}

/**
 * The tenants that are due longest, each once.
 *
 * @param all what is due, in any order.
 * @param limits.readUntilMs what became due later is left out, because some of it is not in `all`.
 */
function longestDue(
  all: readonly DueTenant[],
  limits: { untilMs: number; readUntilMs: number; tenantsMax: number },
): { due: DueTenant[]; untilMs: number } {
  const oldestFirst = all.filter(({ dueAtMs }) => dueAtMs <= limits.readUntilMs);
  oldestFirst.sort((a, b) => a.dueAtMs - b.dueAtMs);
  const tenants = new Map<string, DueTenant>();
  let untilMs = limits.readUntilMs;
  for (const due of oldestFirst) {
    const { tenant, dueAtMs } = due;
    if (tenants.size >= limits.tenantsMax && dueAtMs > untilMs) break;
    const known = tenants.get(tenant);
    tenants.set(tenant, {
      tenant,
      dueAtMs: known?.dueAtMs ?? dueAtMs,
      full: due.full || (known?.full ?? false),
      deletes: due.deletes || (known?.deletes ?? false),
    });
    if (!known && tenants.size === limits.tenantsMax) untilMs = dueAtMs;
  }
  return { due: [...tenants.values()], untilMs };
}

/** Reads pages until it has found enough tenants, each with the time since when it is due. */
async function dueOfPartition(
  table: Table,
  partition: string,
  input: Parameters<typeof dueTenants>[1],
): Promise<PartitionDue> {
  const { afterMs = -1, untilMs, tenantsMax } = input;
  const [full, deletes] = [partition.startsWith('TENANT#'), partition.startsWith('DELETION#')];
  const found = new Map<string, number>();
  const pages = pagesOf(table, {
    IndexName: byDueIndex.name,
    KeyConditionExpression: '#due = :due AND #at BETWEEN :after AND :until',
    ExpressionAttributeNames: { '#due': byDueIndex.pk, '#at': byDueIndex.sk },
    ExpressionAttributeValues: { ':due': partition, ':after': afterMs, ':until': untilMs },
  });
  let readUntilMs = untilMs;
  let pagesLeft = pagesMax;
  for await (const items of pages) {
    let lastMs = afterMs;
    for (const item of items) {
      const tenant = tenantOfPartition(String(item['pk']));
      lastMs = Number(item[byDueIndex.sk]);
      // Both ends of BETWEEN are included.
      if (lastMs > afterMs && !found.has(tenant)) found.set(tenant, lastMs);
    }
    pagesLeft -= 1;
    if (pagesLeft === 0 || found.size >= tenantsMax) {
      readUntilMs = lastMs;
      break;
    }
  }
  return { due: [...found].map(([tenant, dueAtMs]) => ({ tenant, dueAtMs, full, deletes })), readUntilMs };
}

/** undefined: it never ran. */
async function readRefreshState(table: Table): Promise<RefreshState | undefined> {
  const item = await getItem(table, refreshKey);
  return item && refreshSchema.parse(item);
}

/** Replaces it. A write that lands late takes the schedule back a little: some tenants are handed on twice. */
async function putRefreshState(table: Table, state: RefreshState): Promise<void> {
  await putItem(table, { item: { ...refreshKey, ...state }, condition: `${absent} OR ${exists}` });
}
