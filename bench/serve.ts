import { readFileSync } from 'node:fs';

/** Functions that a child process offers to its parent. JSON must be able to carry arguments and results. */
export type ChildApi = Readonly<Record<string, (...args: never[]) => unknown>>;

/** A message from the parent: which function to call. */
export interface Call {
  readonly name: string;
  readonly args: readonly unknown[];
}

/** A message from the child: first what it passed as `ready`, then the result of each call. */
export interface Reply {
  readonly value?: unknown;
}

/**
 * Runs in the child: lets the parent call these functions, one at a time. The child exits when its parent is gone.
 *
 * @param ready passed to the parent, which waits for it before its first call.
 */
export function serve(api: ChildApi, ready?: unknown): void {
  const reply = (value: unknown) => process.send?.({ value } satisfies Reply);
  process.on('message', async ({ name, args }: Call) => {
    const run = api[name] as ((...args: readonly unknown[]) => unknown) | undefined;
    if (!run) throw new Error(`This process has no function "${name}".`);
    reply(await run(...args));
  });
  process.on('disconnect', () => process.exit(0));
  reply(ready);
}

/** CPU time of all threads of this process, so collecting garbage counts. */
export function ownCpuMs(since?: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
}

/**
 * Largest resident memory of this process since it started, in MB, as Linux counts it. `process.resourceUsage()` would
 * include the parent's memory: a child starts as a copy of its parent and keeps that maximum.
 */
export function peakMemoryMb(): number {
  const kilobytes = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'latin1'))?.[1];
  return Number(kilobytes) / 1024;
}
