import { existsSync } from 'node:fs';
import { open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import type { ClassicLevel } from 'classic-level';
import { parseJson } from '../../lambda/core/rules/text.ts';
import { type Codec, queuePartitions } from '../background/kept.ts';
import { reconcileCodec, sentCodec } from '../background/queues.ts';
import { readIfThere, syncFolder, unfinishedSuffix } from '../system/durable-file.ts';
import type { Item } from '../table/expression.ts';
import { keyOf } from '../table/items.ts';
import { LevelStore } from '../table/level-store.ts';
import { openDatabaseError, openLevel } from './database.ts';

/**
 * Formats 1 and 2 of the data folder had the table as dynalite 4 wrote it, and files for its queues. All of it becomes a
 * new table, beside what is there:
 *
 * 1. table.unfinished is written, and synced. A kill until here changes nothing: the next start writes it again.
 * 2. The folder gets its format (data-folder.ts). From then on table.unfinished is whole, and no older version writes.
 * 3. It becomes `table`, and what it was made of is removed.
 *
 * Meanwhile dynalite's table is open. So the kernel refuses a second process that takes this one's lock for a stale one,
 * before it changes anything.
 */

/** Items that are written together. */
const itemsAtOnce = 500;

const olderDatabase = 'database';
/** A file for each tenant whose reconcile waits, and below dead-letters for each whose reconcile failed too often. */
const olderQueue = 'queue';
const olderWebhooks = 'webhook-queue.json';
export const tableFolder = 'table';
export const unfinishedTable = `${tableFolder}${unfinishedSuffix}`;

/**
 * Steps 1 to 3, but for the removal. Without a table of dynalite, step 2 alone.
 *
 * @param claim does step 2.
 * @throws {StartupError} when dynalite's table can't be read, or another process has it, or the disk is full.
 */
export async function convert(dataPath: string, claim: () => Promise<void>): Promise<void> {
  const from = join(dataPath, olderDatabase);
  const refuse = (error: unknown) => {
    throw openDatabaseError(from, error);
  };
  const older = existsSync(from) ? await openLevel(from).catch(refuse) : undefined;
  try {
    await rm(join(dataPath, unfinishedTable), { recursive: true, force: true });
    if (older !== undefined) await writeTable(dataPath, converted(older, dataPath)).catch(refuse);
    await claim();
    await adoptConverted(dataPath);
  } finally {
    await older?.close();
  }
}

async function* converted(older: ClassicLevel, dataPath: string): AsyncIterable<readonly Item[]> {
  yield* itemsOfDynalite(older);
  yield await queuedItems(dataPath);
}

/** Step 1, with any items. They are of no table yet. */
export async function writeTable(dataPath: string, parts: AsyncIterable<readonly Item[]>): Promise<void> {
  const to = join(dataPath, unfinishedTable);
  await rm(to, { recursive: true, force: true });
  const store = await LevelStore.open({ open: () => openLevel(to), probe: async () => {} });
  try {
    for await (const items of parts) {
      for (const item of items) store.write({ key: keyOf(item), before: undefined, after: item });
      await store.kept(items.map(keyOf));
    }
  } finally {
    await store.close();
  }
  // LevelDB syncs what was written last. What it had in other files until then may be in memory still.
  await syncAll(to);
  await syncFolder(dataPath);
}

/** Step 3, once the folder has the format of this version: a kill may have come before it. */
export async function adoptConverted(dataPath: string): Promise<void> {
  if (!existsSync(join(dataPath, unfinishedTable))) return;
  await rename(join(dataPath, unfinishedTable), join(dataPath, tableFolder));
  await syncFolder(dataPath);
}

/** Removes what the table was made of. */
export async function removeOlder(dataPath: string): Promise<void> {
  for (const older of [olderDatabase, olderQueue, olderWebhooks])
    await rm(join(dataPath, older), { recursive: true, force: true });
}

/**
 * The items of dynalite's table, some at a time. It has them as DynamoDB's JSON, in a LevelDB that it shares with its
 * indexes and its list of tables, all told apart by how their keys begin.
 */
async function* itemsOfDynalite(level: ClassicLevel): AsyncIterable<readonly Item[]> {
  const prefix = 'item-lfs-quota~';
  const values = level.values({ gte: prefix, lt: `${prefix.slice(0, -1)}\x7f` });
  for (;;) {
    const texts = await values.nextv(itemsAtOnce);
    if (texts.length === 0) return;
    yield texts.map((text) => unmarshall(JSON.parse(text)));
  }
}

/** What lay in the queues' files. What can't be read is a full reconcile, or no message to a webhook. */
async function queuedItems(dataPath: string): Promise<readonly Item[]> {
  const { reconciles, deadReconciles, webhooks } = queuePartitions;
  const items: Item[] = [];
  const add = <M>(pk: string, sk: string, codec: Codec<M>, value: unknown) => {
    const job = codec.read(value, { id: sk, nowMs: Date.now() });
    if (job) items.push({ pk, sk, message: codec.write(job) });
  };
  const addReconciles = async (folder: string, pk: string) => {
    for (const name of await readdir(folder).catch(() => [])) {
      if (!name.endsWith('.json')) continue;
      const value = parseJson((await readIfThere(join(folder, name))) ?? '');
      add(pk, decodeURIComponent(name.slice(0, -'.json'.length)), reconcileCodec, value);
    }
  };
  await addReconciles(join(dataPath, olderQueue), reconciles);
  await addReconciles(join(dataPath, olderQueue, 'dead-letters'), deadReconciles);
  const sent = parseJson((await readIfThere(join(dataPath, olderWebhooks))) ?? '');
  for (const each of Array.isArray(sent) ? sent : [])
    add(webhooks, String(Object(each).messageId), sentCodec, each);
  return items;
}

async function syncAll(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const file = await open(join(folder, name), 'r+');
    try {
      await file.sync();
    } finally {
      await file.close();
    }
  }
  await syncFolder(folder);
}
