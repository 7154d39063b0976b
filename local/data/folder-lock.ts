import { randomUUID } from 'node:crypto';
import { link, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseJson } from '../../lambda/domain/json.ts';
import { readIfThere } from '../system/durable-file.ts';
import {
  isRunningElsewhere,
  type NotedProcess,
  notedProcessIn,
  thisProcess,
} from '../system/running-process.ts';
import { errorCode, StartupError } from '../system/startup-error.ts';

/** Folders that this process holds. The pid in a lock file cannot show that: an earlier process may have had it. */
const heldHere = new Set<string>();

/**
 * Locks the data folder for this process. A stale lock, whose owner was killed, is replaced. Two processes that
 * replace the same stale lock at the same time may both succeed, and so may two containers, which don't see each other's
 * processes. The database's own lock, which the kernel keeps, then stops the second one before it changes anything.
 *
 * Waits up to `waitMs` for an owner that is stopping, as at a restart.
 *
 * @returns a function that unlocks the folder.
 * @throws {StartupError} when another process holds it.
 */
export async function lockFolder(folder: string, waitMs = 3_000): Promise<() => Promise<void>> {
  const path = join(folder, 'lock');
  const giveUpAtMs = performance.now() + waitMs;
  for (let holder = await holderOf(path); holder !== undefined; holder = await holderOf(path)) {
    if (performance.now() >= giveUpAtMs) throw inUse(folder, holder);
    await delay(100);
  }
  await rm(path, { force: true });
  await claim(path, folder);
  heldHere.add(path);
  return async () => {
    heldHere.delete(path);
    if ((await readOwner(path))?.pid === process.pid) await rm(path, { force: true });
  };
}

/** The pid of the live process that holds a lock. */
async function holderOf(path: string): Promise<number | undefined> {
  if (heldHere.has(path)) return process.pid;
  const owner = await readOwner(path);
  return owner && isRunningElsewhere(owner) ? owner.pid : undefined;
}

/** Creates the lock file with its content in one step: a link fails if the name exists. */
async function claim(path: string, folder: string): Promise<void> {
  const besidePath = `${path}.${randomUUID()}`;
  await writeFile(besidePath, JSON.stringify(thisProcess()), { mode: 0o600 });
  try {
    await link(besidePath, path);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    throw inUse(folder, (await readOwner(path))?.pid);
  } finally {
    await rm(besidePath, { force: true });
  }
}

async function readOwner(path: string): Promise<NotedProcess | undefined> {
  return notedProcessIn(parseJson((await readIfThere(path)) ?? ''));
}

function inUse(folder: string, pid: number | undefined): StartupError {
  const by = pid === undefined ? 'another process' : `process ${pid}`;
  return new StartupError(
    `The data folder ${folder} is in use by ${by}. Stop that one first, or choose another folder: \`npm start -- --data DIR\`.`,
  );
}
