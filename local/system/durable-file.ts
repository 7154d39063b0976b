import { readFileSync } from 'node:fs';
import { open, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';

/**
 * Why the stack cannot start, in one line for the person who started it: what is wrong, and what to do next.
 * Any other error during the start is a bug or a broken dependency.
 */
export class StartupError extends Error {
  override readonly name = 'StartupError';
}

/** The system's error code (`EADDRINUSE`, `ENOENT`, …) of an error or of its causes; undefined if there is none. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null) return undefined;
  if ('code' in error && typeof error.code === 'string') return error.code;
  return error instanceof Error ? errorCode(error.cause) : undefined;
}

const causesMax = 5;

/** What a person reads after the name of what is on the full disk. */
export const diskFullAdvice =
  'is on a disk that is full, or beyond the quota of this user. Free some space, then start again. What is stored is safe.';

/**
 * True if the error, or one of its causes, is of a full file system or an exceeded disk quota. LevelDB gives no code,
 * only the system's words.
 */
export function isDiskFull(error: unknown): boolean {
  let cause = error;
  for (let depth = 0; cause instanceof Error && depth < causesMax; depth += 1) {
    if (['ENOSPC', 'EDQUOT'].includes(errorCode(cause) ?? '')) return true;
    if (/No space left on device|Disk quota exceeded/.test(cause.message)) return true;
    cause = cause.cause;
  }
  return false;
}

/** Suffix of files that are still being written. Whoever lists a folder skips them. */
export const unfinishedSuffix = '.unfinished';

/**
 * Replaces a file atomically: a reader finds the old text or the new one, also after a crash or a power cut. The text
 * is written beside the file, synced to disk, and renamed. Nobody else may write the file meanwhile.
 */
export async function writeDurably(path: string, text: string | AsyncIterable<string>): Promise<void> {
  const unfinished = `${path}${unfinishedSuffix}`;
  // One that a crash left.
  await rm(unfinished, { force: true });
  try {
    const file = await open(unfinished, 'wx', 0o600);
    try {
      await writeFile(file, text);
      await file.sync();
    } finally {
      await file.close();
    }
    await rename(unfinished, path);
  } catch (error) {
    await rm(unfinished, { force: true });
    throw error;
  }
  await syncFolder(dirname(path));
}

/** A file's text; undefined if there is no such file. */
export async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
}

/** Makes a rename survive a power cut. Does nothing on systems that cannot open folders, such as Windows. */
export async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  } catch (error) {
    if (!['EISDIR', 'EPERM', 'EACCES', 'EINVAL'].includes(errorCode(error) ?? '')) throw error;
  }
}

/** A process as it is noted in a file, so that another one can tell whether it still runs. */
export interface NotedProcess {
  readonly pid: number;
  /** Tells apart two processes that had the same pid; absent if the system does not provide it. */
  readonly processIdentity?: string;
}

export function thisProcess(): NotedProcess {
  const identity = readProcess(process.pid)?.identity;
  return { pid: process.pid, ...(identity === undefined ? {} : { processIdentity: identity }) };
}

/** The process in a noted value; undefined if it holds none. */
export function notedProcessIn(value: unknown): NotedProcess | undefined {
  if (typeof value !== 'object' || value === null || !('pid' in value)) return undefined;
  if (typeof value.pid !== 'number') return undefined;
  const identity = 'processIdentity' in value ? value.processIdentity : undefined;
  return { pid: value.pid, ...(typeof identity === 'string' ? { processIdentity: identity } : {}) };
}

/** True if another process than this one is the noted one, and runs. */
export function isRunningElsewhere(noted: NotedProcess): boolean {
  const found = readProcess(noted.pid);
  // A zombie: it was killed and holds nothing any more, but its parent has not collected its exit code yet.
  if (found?.state === 'Z' || found?.state === 'X') return false;
  if (noted.processIdentity !== undefined && found !== undefined) {
    return found.identity === noted.processIdentity && noted.pid !== process.pid;
  }
  // In a container every start has the same pid.
  if (noted.pid === process.pid) return false;
  try {
    process.kill(noted.pid, 0);
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
