import type { FunctionName } from '../../../lambda/routes.ts';
import { redeliveryDelayMs } from '../../../lambda/runtime/delay-redelivery.ts';
import type { Sample } from './alarm-evaluation.ts';

/** From this minute on alarms are evaluated, and faults begin a little later. Before it the stage runs as ever. */
export const start = 5 * 24 * 60;
/** A moment in the first minutes, which fits no period. */
export const faultBegins = start + 17;

type Queue = 'ReconcileQueue' | 'WebhookWorkQueue' | 'ExportWorkQueue' | 'StoreEventsQueue';
const deadLettersOf = {
  ReconcileQueue: 'ReconcileQueueDeadLetterQueue',
  WebhookWorkQueue: 'WebhookWorkDeadLetterQueue',
  ExportWorkQueue: 'ExportWorkDeadLetterQueue',
  StoreEventsQueue: 'StoreEventsDeadLetterQueue',
} as const satisfies Record<Queue, string>;

/** The function's time limit, and the number of tries, that a stage has by default. */
export const timeLimitMinutes = 5;
export const attemptsMax = 20;

/**
 * What the platform would publish while a stage works or fails: the values of each metric, by minute. Where nothing
 * runs, nothing is published.
 */
export class MetricStreams {
  readonly #samples = new Map<string, Sample[]>();

  of(metric: string): readonly Sample[] {
    return this.#samples.get(metric) ?? [];
  }

  publish(metric: string, minute: number, value: number): void {
    const samples = this.#samples.get(metric) ?? [];
    this.#samples.set(metric, samples);
    samples.push({ minute: Math.floor(minute), value });
  }

  /** Lambda reports each run, failed or not. A throttled request is no run. */
  invoke(
    name: FunctionName,
    minute: number,
    outcome: 'succeeds' | 'fails' | 'is throttled' = 'succeeds',
  ): void {
    this.publish(`Throttles of ${name}`, minute, outcome === 'is throttled' ? 1 : 0);
    if (outcome === 'is throttled') return;
    this.publish(`Invocations of ${name}`, minute, 1);
    this.publish(`Errors of ${name}`, minute, outcome === 'fails' ? 1 : 0);
  }

  /** The filter of the access log finds an answer that failed. Without one it reports nothing. */
  answer(minute: number, status: number): void {
    if (status >= 500 && status !== 509) this.publish('RequestsFailed', minute, 1);
  }

  /** The filter of the access log finds an answer of the gateway itself. Without one it reports nothing. */
  throttleRequest(minute: number): void {
    this.publish('RequestsThrottled', minute, 1);
  }

  /**
   * SQS reports while a queue is in use. The age leaves out a message that was received three times or more and is not
   * deleted: it is taken for a poison pill.
   */
  queueState(queue: Queue, minute: number, state: { oldestSeconds: number; deadLetters?: number }): void {
    this.publish(`ApproximateAgeOfOldestMessage of ${queue}`, minute, state.oldestSeconds);
    this.publish(
      `ApproximateNumberOfMessagesVisible of ${deadLettersOf[queue]}`,
      minute,
      state.deadLetters ?? 0,
    );
  }

  /**
   * A run of the schedule. It is invoked asynchronously: Lambda retries a run that failed after one minute, and after
   * two more. While it is throttled, Lambda retries after 1 s, 2 s, 4 s and so on.
   */
  refresh(minute: number, outcome: 'succeeds' | 'throws' | 'times out' | 'is throttled', tenants = 40): void {
    switch (outcome) {
      case 'succeeds':
        this.invoke('refresh', minute);
        this.publish('TenantsQueued', minute, tenants);
        return;
      case 'throws':
        for (const after of [0, 1, 3]) this.invoke('refresh', minute + after, 'fails');
        return;
      case 'times out': {
        const took = timeLimitMinutes;
        for (const after of [0, took + 1, 2 * took + 3]) this.invoke('refresh', minute + after, 'fails');
        return;
      }
      case 'is throttled':
        for (let retry = 0; retry < 8; retry++)
          this.invoke('refresh', minute + (2 ** retry - 1) / 60, outcome);
    }
  }

  /** A recount of the queue that succeeds. */
  recount(minute: number, found: { shortfallBytes?: number; ageHours?: number } = {}): void {
    this.invoke('reconcile', minute);
    this.publish('CounterShortfallBytes', minute, found.shortfallBytes ?? 0);
    this.publish('ReconcileAge', minute, (found.ageHours ?? 1) * 3_600_000);
  }

  /**
   * A message whose recounts all fail, each after a run of `runMinutes`, until it is a dead letter. The function
   * catches the error: for Lambda, these runs succeed.
   *
   * @returns the minute in which the message is given up.
   */
  failingRecount(minute: number, given: { runMinutes: number; tries?: number }): number {
    let now = minute;
    for (let receiveCount = 1; receiveCount <= (given.tries ?? attemptsMax); receiveCount++) {
      now += given.runMinutes;
      this.invoke('reconcile', now);
      this.publish('RecountsFailed', now, 1);
      now += redeliveryDelayMs(receiveCount) / 60_000;
    }
    return now;
  }
}
