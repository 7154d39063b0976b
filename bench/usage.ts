import { existsSync, readdirSync, readFileSync } from 'node:fs';

/** What a piece of work used. */
export interface Used {
  readonly wallMs: number;
  /** Of all threads, so collecting garbage counts. */
  readonly cpuMs: number;
  /** Largest resident memory of the process so far. */
  readonly peakMb: number;
}

/** @param startedMs when the work began, by the clock of `performance`. @param cpu what was used before. Default: nothing. */
export function usedSince(startedMs: number, cpu?: NodeJS.CpuUsage): Used {
  const { user, system } = process.cpuUsage(cpu);
  const wallMs = performance.now() - startedMs;
  return { wallMs, cpuMs: (user + system) / 1000, peakMb: peakMbOfTree(process.pid) };
}

/** Does some work. @returns its result, and what it used. */
export async function measured<Result>(work: () => Promise<Result>): Promise<Used & { result: Result }> {
  const [startedMs, cpu] = [performance.now(), process.cpuUsage()];
  const result = await work();
  return { result, ...usedSince(startedMs, cpu) };
}

/** CPU time of a process and its running descendants, in ms: of all threads that run now. Needs Linux. */
export function cpuMsOfTree(pid: number | string): number {
  const nsOf = (thread: string) => Number(textOf(`${thread}/schedstat`).split(' ')[0]);
  return (
    treeOf(pid).reduce((sum, { threads }) => threads.reduce((ns, each) => ns + nsOf(each), sum), 0) / 1e6
  );
}

/**
 * Most memory that a process and its running descendants had, in MB. What they share counts for each. Needs Linux.
 * `process.resourceUsage()` would include the parent's: a child starts as a copy of it, and keeps that maximum.
 */
export function peakMbOfTree(pid: number): number {
  const peakKbOf = (id: string) => Number(/VmHWM:\s+(\d+)/.exec(textOf(`/proc/${id}/status`))?.[1] ?? 0);
  return treeOf(pid).reduce((sum, { id }) => sum + peakKbOf(id), 0) / 1024;
}

/** A process and its running descendants, with the folders of their threads. */
function treeOf(pid: number | string): { id: string; threads: string[] }[] {
  const folder = `/proc/${pid}/task`;
  if (!existsSync(folder)) return [];
  const threads = readdirSync(folder).map((thread) => `${folder}/${thread}`);
  const children = threads.flatMap((thread) => textOf(`${thread}/children`).split(' ').filter(Boolean));
  return [{ id: String(pid), threads }, ...children.flatMap(treeOf)];
}

/** Empty if the process, or the thread, has just ended. */
function textOf(file: string): string {
  try {
    return readFileSync(file, 'latin1');
  } catch {
    return '';
  }
}
