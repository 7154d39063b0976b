import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { link, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseJson } from '../../lambda/domain/json.ts';
import { readIfThere } from '../system/durable-file.ts';
import { errorCode, StartupError } from '../system/startup-error.ts';

interface LockOwner {
  readonly pid: number;
  /** Tells apart two processes that had the same pid; absent if the system does not provide it. */
  readonly processIdentity?: string;
}

/** Folders that this process holds. The pid in a lock file cannot show that: an earlier process may have had it. */
const heldHere = new Set<string>();

/**
 * Locks the data folder for this process. A stale lock, whose owner was killed, is replaced. Two processes that
 * replace the same stale lock at the same time may both succeed. The database's own lock, which the kernel keeps, then
 * stops the second one.
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
  return owner && isAlive(owner) ? owner.pid : undefined;
}

/** Creates the lock file with its content in one step: a link fails if the name exists. */
async function claim(path: string, folder: string): Promise<void> {
  const identity = readProcess(process.pid)?.identity;
  const owner: LockOwner = {
    pid: process.pid,
    ...(identity === undefined ? {} : { processIdentity: identity }),
  };
  const besidePath = `${path}.${randomUUID()}`;
  await writeFile(besidePath, JSON.stringify(owner), { mode: 0o600 });
  try {
    await link(besidePath, path);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
    throw inUse(folder, (await readOwner(path))?.pid);
  } finally {
    await rm(besidePath, { force: true });
  }
}

async function readOwner(path: string): Promise<LockOwner | undefined> {
  const value = parseJson((await readIfThere(path)) ?? '');
  if (typeof value !== 'object' || value === null || !('pid' in value)) return undefined;
  if (typeof value.pid !== 'number') return undefined;
  const identity = 'processIdentity' in value ? value.processIdentity : undefined;
  return { pid: value.pid, ...(typeof identity === 'string' ? { processIdentity: identity } : {}) };
}

function isAlive(owner: LockOwner): boolean {
  const found = readProcess(owner.pid);
  // A zombie: it was killed and holds nothing any more, but its parent has not collected its exit code yet.
  if (found?.state === 'Z' || found?.state === 'X') return false;
  if (owner.processIdentity !== undefined && found !== undefined) {
    return found.identity === owner.processIdentity;
  }
  // In a container every start has the same pid. This process itself does not hold the lock.
  if (owner.pid === process.pid) return false;
  try {
    process.kill(owner.pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/**
 * A process on Linux: its state, and an identity made of the boot and its start time. A pid can be reused, the
 * identity cannot.
 *
 * @returns undefined if there is no such process, or on another system.
 */
function readProcess(pid: number): { state: string; identity: string } | undefined {
  try {
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The program's name, in brackets, may hold anything. The state follows it, and 19 fields later the start time.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0] ?? '', identity: `${bootId}/${fields[19]}` };
  } catch {
    return undefined;
  }
}

function inUse(folder: string, pid: number | undefined): StartupError {
  const by = pid === undefined ? 'another process' : `process ${pid}`;
  return new StartupError(
    `The data folder ${folder} is in use by ${by}. Stop that one first, or choose another folder with --data.`,
  );
}
