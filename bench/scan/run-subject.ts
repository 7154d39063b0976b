import { createSubject, type SubjectKind, warmUp } from './subject.ts';

/** One measured scan, as the benchmark asks a subject's process for it. */
export interface RunRequest {
  readonly bucket: string;
  readonly objects: number;
}

export interface RunResult {
  readonly objects: number;
  readonly bytes: number;
  readonly rounds: number | undefined;
  readonly wallMs: number;
  readonly cpuMs: number;
  /** Largest resident memory of the process since it began. */
  readonly peakMb: number;
}

const [kind, endpoint, isWarmedUp] = process.argv.slice(2) as [SubjectKind, string, string?];
if (isWarmedUp) await warmUp(endpoint);
const count = createSubject(kind, endpoint);

process.on('message', async ({ bucket, objects }: RunRequest) => {
  const cpu = process.cpuUsage();
  const startedMs = performance.now();
  const counted = await count({ name: bucket, objects });
  const wallMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(cpu);
  const peakMb = process.resourceUsage().maxRSS / 1024;
  process.send?.({ ...counted, wallMs, cpuMs: (user + system) / 1000, peakMb } satisfies RunResult);
});
process.on('disconnect', () => process.exit(0));
process.send?.('ready');
