import { spawnSync } from 'node:child_process';

/** Whether this machine has strace, and lets it trace. */
export const canTrace = () => spawnSync('strace', ['-o', '/dev/null', 'true']).status === 0;

/**
 * The arguments of strace for a program of TypeScript and its threads. Each call has the path of its file.
 *
 * @param input.file where the calls are written.
 * @param input.shownBytes how much of what is read or written.
 */
export function traceOf(input: {
  file: string;
  calls: readonly string[];
  program: readonly string[];
  shownBytes?: number;
}): string[] {
  const { file, calls, program, shownBytes = 32 } = input;
  const how = ['-f', '-y', '-s', String(shownBytes), '-o', file, '-e', `trace=${calls.join()}`];
  return [...how, process.execPath, '--import', 'tsx', ...program];
}
