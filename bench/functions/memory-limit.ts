import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';

/** Gives processes so much memory as a function has, so that Node sizes its heap by it. */
export interface MemoryLimit {
  /** How it is done, for the report. */
  readonly means: string;
  /** A command that joins before it becomes the program: Node looks at its limit once, when it starts. */
  wrap(
    program: string,
    args: readonly string[],
  ): { readonly program: string; readonly args: readonly string[] };
  close(): void;
}

/** A limit by control group; where that is not allowed there is none, and the means say so. */
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
