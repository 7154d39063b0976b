import { once } from 'node:events';
import { createConnection } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { serveBackups } from '../../../../local/data/backups.ts';
import { recordingLog } from '../../../support/recording-log.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const tempFolder = useTempFolders();

async function setUp() {
  const folder = tempFolder();
  async function* snapshot() {
    yield ['{"pk":"TENANT#acme","sk":"TENANT"}'];
  }
  const close = await serveBackups({ folder, log: recordingLog().log, snapshot });
  /** Reads nothing yet. */
  const connect = async () => {
    const socket = createConnection(join(folder, 'backup.sock')).pause();
    await once(socket, 'connect');
    return socket;
  };
  return { close, connect };
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
