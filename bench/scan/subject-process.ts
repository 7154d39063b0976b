import { bundleProcess, forkBundle } from '../child/bundle.ts';
import { Child } from '../child/child.ts';
import type { CpuQuota } from './cpu-quota.ts';
import type { RunRequest, RunResult, SubjectApi } from './run-subject.ts';
import type { SubjectKind } from './subject.ts';

let bundle = '';

/** Bundles the subjects. To be called once, before any is started. */
export async function bundleSubjects(): Promise<void> {
  bundle = await bundleProcess(new URL('run-subject.ts', import.meta.url));
}

/** A way of counting in its own process: all CPU time and memory of the process are its own. */
export type SubjectProcess = Child<SubjectApi>;

export function startSubject(
  kind: SubjectKind,
  endpoint: string,
  { isWarmedUp = false } = {},
): Promise<SubjectProcess> {
  const args = isWarmedUp ? [kind, endpoint, 'warmed up'] : [kind, endpoint];
  return Child.of(forkBundle(bundle, args));
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
