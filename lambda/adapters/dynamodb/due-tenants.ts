import type { Input, Output } from '../../ports/ledger.ts';
import { tenantOfPartition } from './items.ts';
import { pagesOf } from './pages.ts';
import type { Table } from './requests.ts';
import { byDueIndex, dueShards } from './table.ts';

/** Pages read of one partition of the index: one tenant may fill many with its dead reservations. */
const pagesMax = 20;

interface DueTenant {
  readonly tenant: string;
  readonly dueAtMs: number;
  readonly full: boolean;
}

/** The tenants that are due, from every partition of the due index. */
export async function dueTenants(table: Table, input: Input<'dueTenants'>): Output<'dueTenants'> {
  const partitions = ['TENANT', 'RESERVATION', 'DELETION'].flatMap((kind) =>
    Array.from({ length: dueShards }, (_, shard) => `${kind}#${shard}`),
  );
  const found = await Promise.all(partitions.map((partition) => dueOfPartition(table, partition, input)));
  const oldestFirst = found.flat().sort((a, b) => a.dueAtMs - b.dueAtMs);
  const full = new Set(oldestFirst.filter((due) => due.full).map((due) => due.tenant));
  const tenants = [...new Set(oldestFirst.map((due) => due.tenant))].slice(0, input.tenantsMax);
  return tenants.map((tenant) => ({ tenant, full: full.has(tenant) }));
}

/** Reads pages until it has found enough tenants, each with the time since when it is due. */
async function dueOfPartition(
  table: Table,
  partition: string,
  input: Input<'dueTenants'>,
): Promise<DueTenant[]> {
  const due = new Map<string, number>();
  const pages = pagesOf(table, {
    IndexName: byDueIndex.name,
    KeyConditionExpression: '#due = :due AND #at <= :now',
    ExpressionAttributeNames: { '#due': byDueIndex.pk, '#at': byDueIndex.sk },
    ExpressionAttributeValues: { ':due': partition, ':now': input.nowMs },
  });
  let pagesLeft = pagesMax;
  for await (const items of pages) {
    for (const item of items) {
      const tenant = tenantOfPartition(String(item['pk']));
      if (!due.has(tenant)) due.set(tenant, Number(item[byDueIndex.sk]));
    }
    pagesLeft -= 1;
    if (pagesLeft === 0 || due.size >= input.tenantsMax) break;
  }
  const full = partition.startsWith('TENANT#');
  return [...due].map(([tenant, dueAtMs]) => ({ tenant, dueAtMs, full }));
}
