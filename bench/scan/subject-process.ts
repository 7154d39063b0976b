import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { CpuQuota } from './cpu-quota.ts';
import type { RunRequest, RunResult } from './run-subject.ts';
import type { SubjectKind } from './subject.ts';

/** A way of counting in a process of its own: its CPU time and memory are all its. */
export class SubjectProcess {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(kind: SubjectKind, endpoint: string): Promise<SubjectProcess> {
    const child = fork(fileURLToPath(new URL('run-subject.ts', import.meta.url)), [kind, endpoint], {
      execArgv: ['--import', 'tsx', '--no-warnings'],
    });
    await answerOf(child);
    return new SubjectProcess(child);
  }

  async run(request: RunRequest): Promise<RunResult> {
    const answer = answerOf(this.#child);
    this.#child.send(request);
    return (await answer) as RunResult;
  }

  /** Runs with no more CPU than the quota gives. What came before, such as loading, had all of it. */
  async runWithin(quota: CpuQuota, request: RunRequest): Promise<RunResult> {
    const release = quota.hold(this.#child.pid ?? 0);
    try {
      return await this.run(request);
    } finally {
      release();
    }
  }

  stop(): void {
    this.#child.disconnect();
  }
}

function answerOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const gone = (code: number | null) => reject(new Error(`A subject ended early (code ${code}).`));
    child.once('exit', gone);
    child.once('message', (message) => {
      child.off('exit', gone);
      resolve(message);
    });
  });
}
