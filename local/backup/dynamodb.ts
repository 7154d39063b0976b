import { setTimeout as delay } from 'node:timers/promises';
import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import { BatchWriteCommand, DynamoDBDocumentClient, ScanCommand } from '@aws-sdk/lib-dynamodb';
import { createDynamoDbLedger } from '../../lambda/core/ledger/ledger.ts';
import { forEachLimited } from '../../lambda/core/rules/async.ts';
import { createDynamoDb } from '../../lambda/core/table/client.ts';
import { anyNamed, exists } from '../../lambda/core/table/expressions.ts';
import { type Table, updateItem } from '../../lambda/core/table/requests.ts';
import { StartupError } from '../system/durable-file.ts';
import type { Item } from '../table/expression.ts';
import { keyOf } from '../table/items.ts';
import { itemsIn } from './backup-file.ts';
import { isTenantItem, restoredItem } from './restored.ts';

/** A deployment's table, as the operator reaches it. */
export interface AwsTable extends Table {
  /** For what no function does. */
  readonly documents: DynamoDBDocumentClient;
}

/** With the credentials that the AWS CLI would use. The SDK waits and retries when it's throttled. */
export function openAwsTable({ name, region }: { name: string; region: string }): AwsTable {
  const patient = new DynamoDBClient({ region, retryMode: 'adaptive', maxAttempts: 12 });
  const documents = DynamoDBDocumentClient.from(patient);
  return { documents, client: createDynamoDb({ region }), tableName: name };
}

/**
 * All items, a page at a time, each as it was written last. Items that change meanwhile may be from before or after, so
 * nobody should write: what a backup needs is a table that is closed, or one that was restored and isn't used.
 */
export async function* itemsOfTable({ documents, tableName }: AwsTable): AsyncGenerator<readonly Item[]> {
  let ExclusiveStartKey: Item | undefined;
  do {
    const page = await documents.send(
      new ScanCommand({ TableName: tableName, ConsistentRead: true, ExclusiveStartKey }),
    );
    yield page.Items ?? [];
    ExclusiveStartKey = page.LastEvaluatedKey;
  } while (ExclusiveStartKey !== undefined);
}

const itemsPerWrite = 25;
const writesAtOnce = 4;
const firstPauseMs = 100;
const pauseMaxMs = 10_000;
/** Answers in a row that write nothing, at most: some minutes. */
const idleAnswersMax = 30;

/** Puts items, again until the table has taken each. It may leave some, when it's throttled. */
async function putAll({ documents, tableName }: AwsTable, items: readonly Item[]): Promise<void> {
  let left = items.map((Item) => ({ PutRequest: { Item } }));
  for (let idle = 0; left.length > 0; ) {
    const sent = left.length;
    const { UnprocessedItems } = await documents
      .send(new BatchWriteCommand({ RequestItems: { [tableName]: left } }))
      .catch((error: Error) => {
        if (!/Throttl|ThroughputExceeded|LimitExceeded/.test(error.name)) throw error;
        return { UnprocessedItems: { [tableName]: left } };
      });
    left = (UnprocessedItems?.[tableName] ?? []) as typeof left;
    idle = left.length < sent ? 0 : idle + 1;
    if (idle > idleAnswersMax)
      throw new StartupError('The table takes no more items: it keeps throttling. Continue with --again.');
    if (left.length > 0) await delay(Math.random() * Math.min(pauseMaxMs, firstPauseMs * 2 ** idle));
  }
}

/**
 * Writes a backup to a table without tenants. A tenant's item comes last: until then no function does anything for it.
 *
 * @param input.text the backup, from its beginning. It is read three times: first to see whether it's whole.
 * @param input.isResumed an earlier import was cut: what it wrote is written again.
 * @throws {StartupError}
 */
export async function importTable(
  table: AwsTable,
  input: {
    text: () => AsyncIterable<string>;
    uploadsFromMs: number;
    isResumed: boolean;
    onProgress: (items: number) => void;
  },
): Promise<void> {
  const { text, uploadsFromMs, isResumed, onProgress } = input;
  for await (const _ of itemsIn(text()));
  if (!isResumed && (await createDynamoDbLedger(table).listTenants({ pageSize: 1 })).length > 0)
    throw new StartupError(
      `The table ${table.tableName} has tenants already. Use an empty one. If an import was interrupted, pass --again.`,
    );
  let count = 0;
  for (const isOfTenants of [false, true]) {
    const hold = { nowMs: Date.now(), uploadsFromMs };
    let parts: Item[][] = [];
    const write = async () => {
      await forEachLimited(parts, writesAtOnce, (part) => putAll(table, part));
      count += parts.reduce((sum, part) => sum + part.length, 0);
      onProgress(count);
      parts = [];
    };
    for await (const items of itemsIn(text())) {
      for (const item of items) {
        const restored = isTenantItem(item) === isOfTenants ? restoredItem(item, hold) : undefined;
        if (restored === undefined) continue;
        const last = parts.at(-1);
        if (last !== undefined && last.length < itemsPerWrite) last.push(restored);
        else parts.push([restored]);
      }
      if (parts.length >= writesAtOnce) await write();
    }
    await write();
  }
}

const changesAtOnce = 16;

/**
 * Makes a table right that DynamoDB has restored, before anybody uses it. It can be done again.
 *
 * @returns how many tenants it has.
 */
export async function finishTable(table: AwsTable, uploadsFromMs: number): Promise<number> {
  let tenants = 0;
  const hold = { nowMs: Date.now(), uploadsFromMs };
  for await (const items of itemsOfTable(table)) {
    await forEachLimited(items, changesAtOnce, async (item) => {
      if (isTenantItem(item)) tenants += 1;
      await change(table, item, restoredItem(item, hold));
    });
  }
  return tenants;
}

/** Writes only what differs: an item of a table that is in use may have been changed otherwise. */
async function change(table: Table, before: Item, after: Item | undefined): Promise<void> {
  const key = { ...keyOf(before) };
  if (after === undefined)
    return void (await table.client.send('DeleteItem', { TableName: table.tableName, Key: key }));
  const set = Object.entries(after).filter(([name, value]) => value !== before[name]);
  const removed = Object.entries(before).filter(([name]) => !(name in after));
  if (set.length + removed.length === 0) return;
  const changes = [anyNamed('set', set).setting(), anyNamed('gone', removed).removing()];
  await updateItem(table, { key, change: changes, condition: exists });
}
