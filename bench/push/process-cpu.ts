import { readdirSync, readFileSync } from 'node:fs';

/** A process as /proc shows it. */
export interface ProcessTimes {
  readonly pid: number;
  readonly parentPid: number;
  /** CPU time of its own threads, ended ones included, and of children that it waited for. */
  readonly cpuMs: number;
}

/** Linux counts in hundredths of a second in this file, on every machine that Node runs on. */
const tickMs = 10;

/** CPU time of a process and its running descendants, in ms. Needs Linux. */
export function cpuMsOfTree(rootPid: number): number {
  return sumOfTree(rootPid, allProcesses());
}

export function sumOfTree(rootPid: number, processes: readonly ProcessTimes[]): number {
  const ownMs = processes.find(({ pid }) => pid === rootPid)?.cpuMs ?? 0;
  const children = processes.filter(({ parentPid }) => parentPid === rootPid);
  return children.reduce((sum, { pid }) => sum + sumOfTree(pid, processes), ownMs);
}

/**
 * Reads the content of `/proc/PID/stat`.
 *
 * @param threadsMs the exact time of the threads that still run, 0 if it is not known. The ticks are coarse, but count
 * ended threads, too: the larger of both is right.
 * @returns undefined for any other text.
 */
export function parseStat(stat: string, threadsMs: number): ProcessTimes | undefined {
  // The name of the program is in parentheses, and may have spaces and parentheses itself.
  const [, pid, rest] = /^(\d+) \(.*\) (.*)$/s.exec(stat.trim()) ?? [];
  if (pid === undefined || rest === undefined) return undefined;
  // proc_pid_stat(5): ppid is field 4; utime, stime, cutime and cstime are 14 to 17. `rest` begins with field 3.
  const fields = rest.split(' ').map(Number);
  const field = (number: number) => fields[number - 3] ?? Number.NaN;
  const ownMs = Math.max((field(14) + field(15)) * tickMs, threadsMs);
  const cpuMs = ownMs + (field(16) + field(17)) * tickMs;
  const parentPid = field(4);
  return Number.isFinite(cpuMs + parentPid) ? { pid: Number(pid), parentPid, cpuMs } : undefined;
}

function allProcesses(): ProcessTimes[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'), threadsMsOf(pid)) ?? [];
      } catch {
        // The process has just ended.
        return [];
      }
    });
}

function threadsMsOf(pid: string): number {
  try {
    const nanoseconds = readdirSync(`/proc/${pid}/task`).map((thread) =>
      Number(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'latin1').split(' ')[0]),
    );
    return nanoseconds.reduce((sum, each) => sum + each, 0) / 1e6;
  } catch {
    // A thread has just ended, or the kernel does not count so finely.
    return 0;
  }
}
