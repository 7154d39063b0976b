import { spawnSync } from 'node:child_process';
import { describeWith } from './describe-with.ts';

/** Tests that trace a program. Without strace, or where it may not trace, they fail in CI, and are skipped elsewhere. */
export function describeTraced(title: string, body: () => void): void {
  const { error, status, stderr } = spawnSync('strace', ['-o', '/dev/null', 'true']);
  const missing = error
    ? 'strace is missing. Install it: apt-get install strace'
    : `The system doesn't let it trace: ${String(stderr).trim()}`;
  describeWith({ title, found: status === 0 || undefined, missing }, body);
}

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
