import { chmod, lchown, readdir, rm, stat } from 'node:fs/promises';
import { createConnection, createServer, type Socket } from 'node:net';
import { join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Log } from '../../lambda/core/rules/clock-and-log.ts';
import { queuePartitions } from '../background/kept.ts';
import { backupText, itemsIn } from '../backup/backup-file.ts';
import { isTenantItem, restoredItem } from '../backup/restored.ts';
import { errorCode } from '../system/durable-file.ts';
import type { Item } from '../table/expression.ts';
import { createDataFolder, openStoppedTable } from './data-folder.ts';
import { type Database, openDatabase } from './database.ts';

/**
 * LevelDB lets one process open a table. So the one that serves it writes the backup, to a socket in the data folder: only
 * its user can reach that. A socket that a killed process left refuses connections.
 */
const socketOf = (folder: string) => join(resolve(folder), 'backup.sock');
/** A backup that nobody reads keeps LevelDB from removing what is overwritten. */
const stalledMs = 60_000;
const backupsAtOnce = 4;

/** @returns closes it. Without a socket, a backup needs a stopped server. */
export async function serveBackups(
  input: { folder: string; log: Log } & Pick<Database, 'snapshot'>,
): Promise<() => Promise<void>> {
  const { folder, log, snapshot } = input;
  const path = socketOf(folder);
  const open = new Set<Socket>();
  const server = createServer(async (socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    // Also once all is written: whoever leaves without having read it resets the connection.
    socket.on('error', () => {});
    socket.setTimeout(stalledMs, () => socket.destroy());
    try {
      await pipeline(Readable.from(backupText('serve', snapshot())), socket);
    } catch (error) {
      log.warn('backup not finished', { error });
    }
  });
  server.maxConnections = backupsAtOnce;
  try {
    await rm(path, { force: true });
    await new Promise<void>((done, fail) => void server.once('error', fail).listen(path, done));
    await chmod(path, 0o600);
  } catch (error) {
    log.warn("no backups while this server runs: the data folder can't have a socket", { error });
  }
  return async () => {
    for (const socket of open) socket.destroy();
    await new Promise((done) => server.close(done));
  };
}

/** The text of a backup of a data folder, whether a server has it open or not. @throws {StartupError} */
export async function* backupOf(dataDir: string): AsyncGenerator<string> {
  const socket = await connected(socketOf(dataDir));
  if (socket !== undefined) return yield* socket;
  const table = await openStoppedTable(dataDir);
  try {
    const database = await openDatabase(table.databasePath);
    try {
      yield* backupText('serve', database.snapshot());
    } finally {
      await database.close();
      await giveToOwner(table.databasePath);
    }
  } finally {
    await table.release();
  }
}

/** LevelDB writes some files anew when it's opened. What root has opened must stay the server's. */
async function giveToOwner(databasePath: string): Promise<void> {
  const { uid, gid } = await stat(databasePath);
  if (process.getuid?.() !== 0 || uid === 0) return;
  for (const name of await readdir(databasePath)) await lchown(join(databasePath, name), uid, gid);
}

/** @returns undefined: no server listens. */
async function connected(path: string): Promise<Socket | undefined> {
  const socket = createConnection(path).setEncoding('utf8');
  try {
    await new Promise<void>((done, fail) => void socket.once('error', fail).once('connect', done));
    return socket;
  } catch (error) {
    socket.destroy();
    if (['ENOENT', 'ECONNREFUSED', 'ENOTSOCK', 'EINVAL', 'ENOTDIR'].includes(errorCode(error) ?? ''))
      return undefined;
    throw error;
  }
}

/**
 * Writes a backup to a new data folder. All tenants are on hold, and wait for a full reconcile.
 *
 * @returns the folder. @throws {StartupError}
 */
export function restoreBackup(
  dataDir: string,
  text: AsyncIterable<string>,
  hold: { nowMs: number; uploadsFromMs: number },
): Promise<string> {
  async function* restored(): AsyncGenerator<readonly Item[]> {
    for await (const items of itemsIn(text)) yield items.flatMap((item) => withReconcile(item, hold));
  }
  return createDataFolder(dataDir, restored());
}

/** A tenant's reconcile waits in the queue, so that the first start counts it at once. */
function withReconcile(item: Item, hold: { nowMs: number; uploadsFromMs: number }): Item[] {
  const restored = restoredItem(item, hold);
  if (restored === undefined) return [];
  const message = { reason: 'import', full: true, prompt: true };
  const request = { pk: queuePartitions.reconciles, sk: String(item['tenant']), message };
  return isTenantItem(item) ? [restored, request] : [restored];
}
