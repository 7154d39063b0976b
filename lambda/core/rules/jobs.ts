import { type Clock, type Invocations, isCorrelationId, type Log } from './clock-and-log.ts';
import type { Metrics } from './metrics.ts';
import { parseJson } from './text.ts';

/**
 * Work that waits. A queue keeps each job as text until its step is done: one that fails, or dies, comes again. So a step may
 * run twice, and several run at a time, in any order.
 */
export interface JobQueue<J> {
  /** @throws when the queue did not accept some of them. It may have accepted others. */
  send(jobs: readonly J[]): Promise<void>;
}

/** One that not every deployment has. Where it's off, it takes none. */
export interface SwitchedQueue<J> extends JobQueue<J> {
  readonly isOn: boolean;
}

/** A delivery of a job by its queue. */
export interface Delivery {
  readonly body: string;
  readonly messageId: string;
  /** Deliveries of it so far, from 1. */
  readonly receiveCount: number;
  /** Of a queue that keeps an order: a job keeps back those behind it in its group. */
  readonly group?: string | undefined;
  /** Until the queue takes the run for dead. */
  readonly leftMs: number;
  readonly functionRequestId?: string;
  /** It failed, and is to be delivered again after this. Never throws: the queue has a time of its own, for runs that died. */
  readonly again: (delayMs: number) => Promise<unknown>;
}

/** @returns whether the job is done. */
export type Consumer = (delivery: Delivery) => Promise<boolean>;

/** From a delivery that failed to the next: longer each time, to spare what is broken, and bounded, to go on soon after. */
interface Pause {
  readonly perTryMs: number;
  readonly maxMs: number;
}

/** Somebody waits for it. */
export const shortPause: Pause = { perTryMs: 5_000, maxMs: 60_000 };
export const longPause: Pause = { perTryMs: 60_000, maxMs: 600_000 };

export const pauseMs = ({ perTryMs, maxMs }: Pause, receiveCount: number) =>
  Math.min(perTryMs * receiveCount, maxMs);

/** For one of a group that can't be read. Retrying never helps, and it blocks its group, so it is short. */
export const unreadableDelayMs = 1_000;

/** Of a step: done, or to be delivered again. */
type Outcome = 'done' | { readonly againMs: number };

/** What a subject does with its jobs. */
interface Jobs<J> {
  readonly schema: JobSchema<J>;
  /** Time kept back at the end of a run, for what is under way then. */
  readonly reserveMs?: number;
  readonly pause: Pause;
  /** What it throws is a failure. */
  step(job: J, attempt: { readonly receiveCount: number; readonly deadlineMs: number }): Promise<Outcome>;
  /** Tells of a failure. The job's next delivery is asked for at the same time. */
  failed(job: J, failure: { readonly error: unknown; readonly receiveCount: number }): unknown;
}

interface JobSchema<J> {
  safeParse(value: unknown): { readonly data?: J | undefined };
}

/** Each job says, for the log alone, which request asked for it. @returns undefined if it's none. Retrying never helps then. */
export function readJob<J>(schema: JobSchema<J>, body: string) {
  const value = parseJson(body);
  const job = schema.safeParse(value).data;
  if (job === undefined) return undefined;
  const { correlationId } = Object(value) as { readonly correlationId?: unknown };
  return { job, correlationId: isCorrelationId(correlationId) ? correlationId : undefined };
}

interface ConsumerDeps {
  readonly clock: Pick<Clock, 'nowMs'>;
  readonly log: Log;
  readonly invocations: Invocations;
  /** Of a function that has some: what a job measured is sent before it ends. */
  readonly metrics?: Pick<Metrics, 'flush'>;
}

/** Its log lines and metrics name the job, and the request that asked for it. */
export function consumerOf<J>(deps: ConsumerDeps, jobs: Jobs<J>): Consumer {
  return (delivery) => {
    const { body, messageId, functionRequestId, receiveCount, group, again } = delivery;
    const read = readJob(jobs.schema, body);
    const ids = {
      messageId,
      correlationId: read?.correlationId,
      ...(functionRequestId && { functionRequestId }),
    };
    return deps.invocations.during(ids, async () => {
      if (read)
        return runStep(deps, { ...delivery, jobs, job: read.job }).finally(() => deps.metrics?.flush());
      // Not what it says: anybody who may send could have written anything.
      deps.log.error('unreadable message', { receiveCount, group });
      if (group !== undefined) await again(unreadableDelayMs);
      return false;
    });
  };
}

async function runStep<J>(
  { clock }: ConsumerDeps,
  { jobs, job, receiveCount, leftMs, again }: Delivery & { jobs: Jobs<J>; job: J },
): Promise<boolean> {
  const deadlineMs = clock.nowMs() + leftMs - (jobs.reserveMs ?? 0);
  try {
    const outcome = await jobs.step(job, { receiveCount, deadlineMs });
    if (outcome === 'done') return true;
    await again(outcome.againMs);
  } catch (error) {
    const told = jobs.failed(job, { error, receiveCount });
    await Promise.all([again(pauseMs(jobs.pause, receiveCount)), told]);
  }
  return false;
}
