import { quickestSettings } from '../../lambda/domain/export/plan-settings.ts';
import { r2Limits, s3Limits } from '../../lambda/domain/export/store-limits.ts';
import type { Child } from '../child/child.ts';
import { peakMemoryMb } from '../child/peak-memory.ts';
import { serve } from '../child/serve.ts';
import { planTar } from './measure.ts';
import { challenge, makeObjects } from './object-sets.ts';

/** What it takes to plan an export. */
export interface Planning {
  readonly wallMs: number;
  /** Of all threads, so collecting garbage counts. */
  readonly cpuMs: number;
  /** The process at its largest, with the list of the objects. */
  readonly peakMb: number;
  /** The same before it plans. */
  readonly listMb: number;
}

const api = {
  /** @param rounds how often it plans; the last round counts. */
  plan(input: { count: number; store: 's3' | 'r2'; rounds: number }): Planning {
    const objects = makeObjects(challenge, { count: input.count, seed: 1 });
    const settings = quickestSettings(input.store === 's3' ? s3Limits : r2Limits);
    const listMb = peakMemoryMb();
    let planning: Planning | undefined;
    for (let round = 0; round < input.rounds; round += 1) {
      const cpu = process.cpuUsage();
      const startedMs = performance.now();
      planTar(objects, settings);
      const wallMs = performance.now() - startedMs;
      const { user, system } = process.cpuUsage(cpu);
      planning = { wallMs, cpuMs: (user + system) / 1000, peakMb: peakMemoryMb(), listMb };
    }
    if (!planning) throw new Error('No round was asked for.');
    return planning;
  },
};

/** Its own process, so that nothing else is in its memory. */
export type PlanProcess = Child<typeof api>;

serve(api);
