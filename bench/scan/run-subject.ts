import { peakMemoryMb } from '../child/peak-memory.ts';
import { serve } from '../child/serve.ts';
import { createSubject, type SubjectKind, warmUp } from './subject.ts';

/** One scan to measure. */
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

const api = {
  run: async ({ bucket, objects }: RunRequest): Promise<RunResult> => {
    const cpu = process.cpuUsage();
    const startedMs = performance.now();
    const counted = await count({ name: bucket, objects });
    const wallMs = performance.now() - startedMs;
    const { user, system } = process.cpuUsage(cpu);
    return { ...counted, wallMs, cpuMs: (user + system) / 1000, peakMb: peakMemoryMb() };
  },
};

export type SubjectApi = typeof api;

serve(api);
