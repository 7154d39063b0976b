import {
  deletionKey,
  parseDeletion,
  parseReservation,
  reservationKey,
  tenantOfPartition,
} from '../../lambda/adapters/dynamodb/items.ts';
import { pagesOf } from '../../lambda/adapters/dynamodb/pages.ts';
import { getItem } from '../../lambda/adapters/dynamodb/requests.ts';
import { byDueIndex, dueShards } from '../../lambda/adapters/dynamodb/table.ts';
import type { Database } from './database.ts';

type Table = Pick<Database, 'client' | 'tableName'>;
type Kind = 'RESERVATION' | 'DELETION';

/**
 * Brings the items of a data folder of format 1 to format 2: there a reservation or deletion has its repo in its key.
 * An item is written with its new key before it is deleted with the old one, so after a kill the next start goes on.
 * Nothing else may use the table meanwhile.
 *
 * @returns how many items were moved.
 */
export async function upgradeItems(table: Table): Promise<number> {
  let moved = 0;
  for (const kind of ['RESERVATION', 'DELETION'] as const) {
    for (let shard = 0; shard < dueShards; shard += 1) {
      for await (const keys of keysOf(table, `${kind}#${shard}`)) {
        for (const key of keys.filter(({ sk }) => isOfFormat1(sk, kind)))
          moved += await move(table, kind, key);
      }
    }
  }
  return moved;
}

/** The keys of the items in a partition of the due index, which names every reservation and deletion. */
async function* keysOf(table: Table, partition: string) {
  const pages = pagesOf(table, {
    IndexName: byDueIndex.name,
    KeyConditionExpression: '#due = :due',
    ExpressionAttributeNames: { '#due': byDueIndex.pk },
    ExpressionAttributeValues: { ':due': partition },
  });
  for await (const items of pages)
    yield items.map((item) => ({ pk: String(item['pk']), sk: String(item['sk']) }));
}

/** `RESERVATION#{id}`, where format 2 has `RESERVATION#{repo}#{id}`. */
function isOfFormat1(sk: string, kind: Kind): boolean {
  return sk.startsWith(`${kind}#`) && sk.split('#').length === 2;
}

async function move(table: Table, kind: Kind, key: { pk: string; sk: string }): Promise<number> {
  const { client, tableName: TableName } = table;
  const item = await getItem(table, key);
  if (item === undefined) return 0;
  await client.send('PutItem', { TableName, Item: { ...item, ...newKey(kind, key.pk, item) } });
  await client.send('DeleteItem', { TableName, Key: key });
  return 1;
}

function newKey(kind: Kind, pk: string, item: unknown): { pk: string; sk: string } {
  const tenant = tenantOfPartition(pk);
  if (kind === 'DELETION') {
    const { repo, id } = parseDeletion(item);
    return deletionKey({ tenant, repo, deletionId: id });
  }
  const { repo, id } = parseReservation(item);
  return reservationKey({ tenant, repo, reservationId: id });
}
