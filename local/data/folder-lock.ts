import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { link, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { errorCode, StartupError } from '../startup-error.ts';
import { readIfThere } from './durable-file.ts';

interface LockOwner {
  readonly pid: number;
  /** Tells two processes apart that had the same number; absent where the system does not tell. */
  readonly processIdentity?: string;
}

/** Folders that this very process holds: its own pid in a lock file says nothing about those. */
const heldHere = new Set<string>();

/**
 * Takes the data folder for this process. A lock that its owner left behind, killed, is recognised and
 * replaced. Two processes that find the same stale lock at once may both pass; the database's own lock,
 * which the kernel keeps, then stops the second.
 *
 * An owner that is just stopping, as at a restart, is waited for.
 *
 * @returns what gives it back.
 * @throws {StartupError} where another process holds it.
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

/** Puts the lock file there whole, or not at all: a link fails where the name is taken. */
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
  try {
    const read: unknown = JSON.parse((await readIfThere(path)) ?? 'null');
    if (typeof read !== 'object' || read === null || !('pid' in read) || typeof read.pid !== 'number')
      return undefined;
    const identity = 'processIdentity' in read ? read.processIdentity : undefined;
    return { pid: read.pid, ...(typeof identity === 'string' ? { processIdentity: identity } : {}) };
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

function isAlive(owner: LockOwner): boolean {
  const found = readProcess(owner.pid);
  // Killed, but its parent has not asked for its end yet: it holds nothing any more.
  if (found?.state === 'Z' || found?.state === 'X') return false;
  if (owner.processIdentity !== undefined && found !== undefined) {
    return found.identity === owner.processIdentity;
  }
  // In a container every start has the same pid; this process does not hold the lock.
  if (owner.pid === process.pid) return false;
  try {
    process.kill(owner.pid, 0);
    return true;
  } catch (error) {
    return errorCode(error) === 'EPERM';
  }
}

/**
 * A process on Linux: its state, and when the system and it were started. Pids are given again, that is not.
 *
 * @returns undefined where there is none, or the system does not tell.
 */
function readProcess(pid: number): { state: string; identity: string } | undefined {
  try {
    const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The program's name, in brackets, may hold anything; after it come the state, and 19 fields on the start.
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
