import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { Child } from '../child/child.ts';
import type { CpuQuota } from './cpu-quota.ts';
import type { RunRequest, RunResult, SubjectApi } from './run-subject.ts';
import type { SubjectKind } from './subject.ts';

const bundle = fileURLToPath(new URL('../out/run-subject.mjs', import.meta.url));

/** Bundles the subjects as Lambda functions are bundled, so that loading and compiling take as long. */
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

/** A way of counting in its own process: all CPU time and memory of the process are its own. */
export class SubjectProcess {
  readonly #child: Child<SubjectApi>;

  private constructor(child: Child<SubjectApi>) {
    this.#child = child;
  }

  static async start(
    kind: SubjectKind,
    endpoint: string,
    { isWarmedUp = false } = {},
  ): Promise<SubjectProcess> {
    const args = isWarmedUp ? [kind, endpoint, 'warmed up'] : [kind, endpoint];
    return new SubjectProcess(await Child.of(fork(bundle, args, { execArgv: ['--no-warnings'] })));
  }

  run(request: RunRequest): Promise<RunResult> {
    return this.#child.call('run', request);
  }

  /** Runs with at most the CPU of the quota. Starting and loading had a full core. */
  async runWithin(quota: CpuQuota, request: RunRequest): Promise<RunResult> {
    const release = quota.hold(this.#child.pid);
    try {
      return await this.run(request);
    } finally {
      release();
    }
  }

  end(): Promise<void> {
    return this.#child.end();
  }
}
