import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { createConnection, Socket } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import { writeBackup } from '../../../../local/backup/backup-file.ts';
import { backupOf, serveBackups } from '../../../../local/data/backups.ts';
import { StartupError } from '../../../../local/system/durable-file.ts';
import { recordingLog } from '../../../support/recording-log.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const tempFolder = useTempFolders();

async function* oneItem() {
  yield ['{"pk":"TENANT#acme","sk":"TENANT"}'];
}

async function setUp(snapshot: () => AsyncGenerator<readonly string[]> = oneItem) {
  const folder = tempFolder();
  const close = await serveBackups({ folder, log: recordingLog().log, snapshot });
  /** Reads nothing yet. */
  const connect = async () => {
    const socket = createConnection(join(folder, 'backup.sock')).pause();
    await once(socket, 'connect');
    return socket;
  };
  return { folder, close, connect };
}

// An error without a listener ends the process: here, it fails the run.
it('serves others after somebody has left with a backup unread', async () => {
  const { close, connect } = await setUp();
  const leaving = await Promise.all([connect(), connect(), connect()]);
  // Until all is written, and waits to be read.
  await delay(200);
  for (const socket of leaving) socket.destroy();
  await delay(200);
  let text = '';
  for await (const piece of (await connect()).setEncoding('utf8')) text += piece;
  expect(text.split('\n')).toHaveLength(4);
  await close();
});

it('ends without waiting for somebody who stays after a backup', async () => {
  const { close, connect } = await setUp();
  const staying = await connect();
  await delay(200);
  await close();
  staying.destroy();
}, 30_000);

it('ends the snapshot of somebody who stops reading for a minute: the table keeps all that is overwritten', async () => {
  const { setTimeout: wait } = Socket.prototype;
  const waits: number[] = [];
  const spy = vi.spyOn(Socket.prototype, 'setTimeout').mockImplementation(function (this: Socket, ms, done) {
    waits.push(ms);
    return wait.call(this, ms / 1000, done);
  });
  onTestFinished(() => spy.mockRestore());
  let [piecesRead, isEnded] = [0, false];
  async function* endless() {
    try {
      for (; ; piecesRead += 1) yield Array<string>(100).fill(`{"pk":"${'x'.repeat(1_000)}","sk":"TENANT"}`);
    } finally {
      isEnded = true;
    }
  }
  const { close, connect } = await setUp(endless);
  const stalling = await connect();
  await expect.poll(() => piecesRead).toBeGreaterThan(0);
  expect(waits).toEqual([60_000]);
  await expect.poll(() => isEnded).toBe(true);
  stalling.destroy();
  await close();
});

it('says why the server could not read its table to its end', async () => {
  async function* damaged() {
    yield* oneItem();
    throw new StartupError('The table is damaged. Restore it.');
  }
  const { folder, close } = await setUp(damaged);
  const file = join(folder, 'table.jsonl');
  await expect(writeBackup(file, backupOf(folder), async () => {})).rejects.toThrow(
    /^The table is damaged\. Restore it\.$/,
  );
  expect(existsSync(file)).toBe(false);
  await close();
});
