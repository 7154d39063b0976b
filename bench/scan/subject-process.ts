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
export type SubjectProcess = Child<SubjectApi>;

export function startSubject(
  kind: SubjectKind,
  endpoint: string,
  { isWarmedUp = false } = {},
): Promise<SubjectProcess> {
  const args = isWarmedUp ? [kind, endpoint, 'warmed up'] : [kind, endpoint];
  return Child.of(fork(bundle, args, { execArgv: ['--no-warnings'] }));
}

/** Runs with at most the CPU of the quota. Starting and loading had a full core. */
export async function runWithin(
  quota: CpuQuota,
  { subject, request }: { subject: SubjectProcess; request: RunRequest },
): Promise<RunResult> {
  const release = quota.hold(subject.pid);
  try {
    return await subject.call('run', request);
  } finally {
    release();
  }
}
