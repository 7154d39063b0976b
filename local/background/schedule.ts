import { randomUUID } from 'node:crypto';
import type { Context, EventBridgeEvent } from 'aws-lambda';
import type { Clock } from '../../lambda/ports/clock.ts';
import type { Log } from '../../lambda/ports/log.ts';
import { lambdaContext } from '../lambda-context.ts';
import { settledWithin, type Timers } from './timers.ts';

export type ScheduledEvent = EventBridgeEvent<'Scheduled Event', string>;
export type ScheduledFunction = (event: ScheduledEvent, context: Context) => Promise<unknown>;

export interface ScheduleOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  /** From the start to the first run. */
  readonly firstDelayMs?: number;
  /** From the start of one run to the start of the next. */
  readonly intervalMs?: number;
}

export interface Schedule {
  /** Starts no more runs. Waits for a running one, at most `graceMs`. */
  close(graceMs: number): Promise<void>;
}

const timeLimitMs = 15 * 60_000;

/** Calls the refresh function every `intervalMs`, one run at a time. A failed run is logged, and the next one follows. */
export function startSchedule(refresh: ScheduledFunction, options: ScheduleOptions): Schedule {
  const { clock, timers, log, firstDelayMs = 5_000, intervalMs = 60_000 } = options;
  let closed = false;
  let cancel = () => {};
  let running: Promise<void> = Promise.resolve();

  const run = async () => {
    const begunAtMs = clock.nowMs();
    try {
      await refresh(scheduledEvent(begunAtMs), lambdaContext({ functionName: 'refresh', timeLimitMs }));
    } catch (error) {
      log.error('refresh failed', { error });
    }
    arm(Math.max(0, begunAtMs + intervalMs - clock.nowMs()));
  };
  const arm = (delayMs: number) => {
    if (closed) return;
    cancel = timers.after(delayMs, () => {
      running = run();
    });
  };

  arm(firstDelayMs);
  return {
    async close(graceMs) {
      closed = true;
      cancel();
      await settledWithin(timers, { work: running, graceMs });
    },
  };
}

function scheduledEvent(nowMs: number): ScheduledEvent {
  return {
    version: '0',
    id: randomUUID(),
    'detail-type': 'Scheduled Event',
    source: 'aws.scheduler',
    account: '000000000000',
    time: new Date(nowMs).toISOString().replace(/\.\d+Z$/, 'Z'),
    region: 'local',
    resources: ['arn:aws:scheduler:local:000000000000:schedule/default/refresh'],
    detail: '{}',
  };
}
