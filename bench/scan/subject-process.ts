import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import type { CpuQuota } from './cpu-quota.ts';
import type { RunRequest, RunResult } from './run-subject.ts';
import type { SubjectKind } from './subject.ts';

const bundle = fileURLToPath(new URL('../out/run-subject.mjs', import.meta.url));

/** Bundles the subjects as functions are bundled for Lambda: loading and compiling are then as there. */
export async function bundleSubjects(): Promise<void> {
  await build({
    entryPoints: [fileURLToPath(new URL('run-subject.ts', import.meta.url))],
    outfile: bundle,
    bundle: true,
    minify: true,
    platform: 'node',
    target: 'node20',
    format: 'esm',
    mainFields: ['module', 'main'],
    conditions: ['module'],
    banner: { js: "import{createRequire as r}from'node:module';const require=r(import.meta.url);" },
  });
}

/** A way of counting in a process of its own: its CPU time and memory are all its. */
export class SubjectProcess {
  readonly #child: ChildProcess;

  private constructor(child: ChildProcess) {
    this.#child = child;
  }

  static async start(
    kind: SubjectKind,
    endpoint: string,
    { isWarmedUp = false } = {},
  ): Promise<SubjectProcess> {
    const args = isWarmedUp ? [kind, endpoint, 'warmed up'] : [kind, endpoint];
    const child = fork(bundle, args, { execArgv: ['--no-warnings'] });
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
