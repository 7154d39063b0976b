import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';

/** Limits processes to the memory of a function, so that Node chooses its heap size by it. */
export interface MemoryLimit {
  /** How it works on this machine, for the report. */
  readonly means: string;
  /** A command that joins the limit and then becomes the program: Node reads its limit once, when it starts. */
  wrap(
    program: string,
    args: readonly string[],
  ): { readonly program: string; readonly args: readonly string[] };
  close(): void;
}

/** A limit by control group. If that is not allowed there is no limit, and `means` says so. */
export function createMemoryLimit(memoryMb: number): MemoryLimit {
  const bytes = String(memoryMb * 1024 * 1024);
  for (const [version, root, file] of [
    [2, '/sys/fs/cgroup', 'memory.max'],
    [1, '/sys/fs/cgroup/memory', 'memory.limit_in_bytes'],
  ] as const) {
    if (!existsSync(`${root}/cgroup.procs`)) continue;
    const group = `${root}/lfs-quota-bench-memory-${process.pid}`;
    try {
      mkdirSync(group);
      writeFileSync(`${group}/${file}`, bytes);
    } catch {
      if (existsSync(group)) rmdirSync(group);
      continue;
    }
    const join = `echo $$ > '${group}/cgroup.procs' && exec "$0" "$@"`;
    return {
      means: `cgroup v${version}, ${memoryMb} MB`,
      wrap: (program, args) => ({ program: '/bin/sh', args: ['-c', join, program, ...args] }),
      close: () => rmdirSync(group),
    };
  }
  return {
    means: 'none (no control group is allowed here)',
    wrap: (program, args) => ({ program, args }),
    close: () => {},
  };
}
