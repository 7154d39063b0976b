import { open, readdir, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { unmarshall } from '@aws-sdk/util-dynamodb';
import { parseJson } from '../../lambda/domain/json.ts';
import { isKept, queuePartitions, readRecount } from '../background/queue-items.ts';
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
 */

/** Items that are written together. */
const itemsAtOnce = 500;

const olderDatabase = 'database';
/** A file for each tenant whose recount waits, and below dead-letters for each whose recount failed too often. */
const olderQueue = 'queue';
const olderWebhooks = 'webhook-queue.json';
export const tableFolder = 'table';
const unfinished = `${tableFolder}${unfinishedSuffix}`;

/**
 * Step 1, if the folder has a table of dynalite.
 *
 * @throws {StartupError} when it can't be read, or the disk is full.
 */
export async function writeConverted(dataPath: string): Promise<void> {
  const [from, to] = [join(dataPath, olderDatabase), join(dataPath, unfinished)];
  await rm(to, { recursive: true, force: true });
  if (!(await exists(from))) return;
  try {
    const store = await LevelStore.open({ open: () => openLevel(to), probe: async () => {} });
    try {
      const write = async (items: readonly Item[]) => {
        for (const item of items) store.write({ key: keyOf(item), before: undefined, after: item });
        await store.kept(items.map(keyOf));
      };
      for await (const items of itemsOfDynalite(from)) await write(items);
      await write(await queuedItems(dataPath));
    } finally {
      await store.close();
    }
  } catch (error) {
    throw openDatabaseError(from, error);
  }
  // LevelDB syncs what was written last. What it had in other files until then may be in memory still.
  await syncAll(to);
  await syncFolder(dataPath);
}

/** Step 3, once the folder has the format of this version. */
export async function adoptConverted(dataPath: string): Promise<void> {
  if (await exists(join(dataPath, unfinished))) {
    await rename(join(dataPath, unfinished), join(dataPath, tableFolder));
    await syncFolder(dataPath);
  }
  for (const older of [olderDatabase, olderQueue, olderWebhooks])
    await rm(join(dataPath, older), { recursive: true, force: true });
}

/**
 * The items of dynalite's table, some at a time. It has them as DynamoDB's JSON, in a LevelDB that it shares with its
 * indexes and its list of tables, all told apart by how their keys begin.
 */
async function* itemsOfDynalite(path: string): AsyncIterable<readonly Item[]> {
  const level = await openLevel(path);
  const prefix = 'item-lfs-quota~';
  const values = level.values({ gte: prefix, lt: `${prefix.slice(0, -1)}\x7f` });
  try {
    for (;;) {
      const texts = await values.nextv(itemsAtOnce);
      if (texts.length === 0) return;
      yield texts.map((text) => unmarshall(JSON.parse(text)));
    }
  } finally {
    await level.close();
  }
}

/** What lay in the queues' files. What can't be read is a full recount, or no message to a webhook. */
async function queuedItems(dataPath: string): Promise<readonly Item[]> {
  const recountsIn = async (folder: string, pk: string) => {
    const items: Item[] = [];
    for (const name of await readdir(folder).catch(() => [])) {
      if (!name.endsWith('.json')) continue;
      const tenant = decodeURIComponent(name.slice(0, -'.json'.length));
      const read = parseJson((await readIfThere(join(folder, name))) ?? '');
      items.push({ pk, sk: tenant, message: readRecount(tenant, read, Date.now()) });
    }
    return items;
  };
  const webhooks = parseJson((await readIfThere(join(dataPath, olderWebhooks))) ?? '');
  const { recounts, deadRecounts, webhooks: pk } = queuePartitions;
  return [
    ...(await recountsIn(join(dataPath, olderQueue), recounts)),
    ...(await recountsIn(join(dataPath, olderQueue, 'dead-letters'), deadRecounts)),
    ...(Array.isArray(webhooks) ? webhooks : [])
      .filter(isKept)
      .map((message) => ({ pk, sk: message.messageId, message })),
  ];
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

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
