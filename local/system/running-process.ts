import { readFileSync } from 'node:fs';
import { errorCode } from './startup-error.ts';

/** A process as it is noted in a file, so that another one can tell whether it still runs. */
export interface NotedProcess {
  readonly pid: number;
  /** Tells apart two processes that had the same pid; absent if the system does not provide it. */
  readonly processIdentity?: string;
}

/** This process. */
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
