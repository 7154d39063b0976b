import { longPause, pauseMs } from '../../../lambda/core/rules/jobs.ts';
import { type FunctionName, handlerFiles } from '../../../lambda/routes.ts';
import { backgroundFunctions } from '../stack-template.ts';
import type { Sample } from './alarm-evaluation.ts';

/** From this minute on alarms are evaluated, and faults begin a little later. Before it the stage runs as ever. */
export const start = 5 * 24 * 60;
/** A moment in the first minutes, which fits no period. */
export const faultBegins = start + 17;

type Queue =
  | 'ReconcileQueue'
  | 'WebhookWorkQueue'
  | 'EmailWorkQueue'
  | 'ExportWorkQueue'
  | 'ChunkWorkQueue'
  | 'CopyWorkQueue'
  | 'StoreEventsQueue';
const deadLettersOf = {
  ReconcileQueue: 'ReconcileQueueDeadLetterQueue',
  WebhookWorkQueue: 'WebhookWorkDeadLetterQueue',
  EmailWorkQueue: 'EmailWorkDeadLetterQueue',
  ExportWorkQueue: 'ExportWorkDeadLetterQueue',
  ChunkWorkQueue: 'ChunkWorkDeadLetterQueue',
  CopyWorkQueue: 'CopyWorkDeadLetterQueue',
  StoreEventsQueue: 'StoreEventsDeadLetterQueue',
} as const satisfies Record<Queue, string>;

/** What DynamoDB refuses, of the table and of its indexes. */
const throttled = ['DataTable', 'by-kind', 'by-due'].flatMap((place) => [
  `ReadThrottleEvents of ${place}`,
  `WriteThrottleEvents of ${place}`,
]);

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
    for (const owner of [name, ''])
      this.publish(`Throttles of ${owner}`, minute, outcome === 'is throttled' ? 1 : 0);
    if (outcome === 'is throttled') return;
    this.publish(`Invocations of ${name}`, minute, 1);
    this.publish(`Errors of ${name}`, minute, outcome === 'fails' ? 1 : 0);
  }

  /** The filter of the access log finds an answer that failed. Without one it reports nothing. */
  answer(minute: number, status: number, times = 1): void {
    this.publish('Count of ApiHttpApi', minute, times);
    this.publish('4xx of ApiHttpApi', minute, status >= 400 && status < 500 ? times : 0);
    if (status >= 500 && status !== 509) this.publish('RequestsFailed', minute, times);
  }

  /** DynamoDB reports it if there was any. */
  throttleTable(minute: number, times: number): void {
    for (const place of throttled) this.publish(place, minute, times);
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

  /** A queue in which nothing is late, and one dead letter from a minute on. */
  deadLetter(queue: Queue, fromMinute: number): void {
    for (let minute = faultBegins; minute < faultBegins + 300; minute++)
      this.queueState(queue, minute, { oldestSeconds: 0, deadLetters: minute >= fromMinute ? 1 : 0 });
  }

  /**
   * A run of the schedule. It is invoked asynchronously, and one that failed is not retried. While it is throttled, Lambda
   * retries after 1 s, 2 s, 4 s and so on, for a minute.
   */
  refresh(minute: number, outcome: 'succeeds' | 'throws' | 'times out' | 'is throttled'): void {
    switch (outcome) {
      case 'succeeds':
        this.invoke('refresh', minute);
        // Mostly nobody is due.
        this.publish('TenantsQueued', minute, 0);
        return;
      case 'throws':
      case 'times out':
        this.invoke('refresh', minute, 'fails');
        return;
      case 'is throttled':
        for (let retry = 0; retry < 6; retry++)
          this.invoke('refresh', minute + (2 ** retry - 1) / 60, outcome);
    }
  }

  /** A reconcile of the queue that succeeds. */
  reconcile(minute: number, found: { shortfallBytes?: number; ageHours?: number } = {}): void {
    this.invoke('reconcile', minute);
    this.publish('CounterShortfallBytes', minute, found.shortfallBytes ?? 0);
    this.publish('ReconcileAge', minute, (found.ageHours ?? 1) * 3_600_000);
  }

  /**
   * A message whose reconciles all fail, each after a run of `runMinutes`, until it is a dead letter. The function
   * catches the error: for Lambda, these runs succeed.
   *
   * @returns the minute in which the message is given up.
   */
  failingReconcile(minute: number, given: { runMinutes: number; tries?: number }): number {
    let now = minute;
    for (let receiveCount = 1; receiveCount <= (given.tries ?? attemptsMax); receiveCount++) {
      now += given.runMinutes;
      this.invoke('reconcile', now);
      this.publish('ReconcilesFailed', now, 1);
      now += pauseMs(longPause, receiveCount) / 60_000;
    }
    return now;
  }
}

const gib = 1024 ** 3;
const names = Object.keys(handlerFiles) as FunctionName[];
const ofApi = names.filter((name) => !backgroundFunctions.includes(name));

/** When the observed day ends. */
export const dayEnds = start + 26 * 60;

/**
 * A busy day on which nothing needs a person: single errors and throttled requests that clients retried, an outage of
 * the store for ten minutes and of the table for five, a run of the schedule that is left out, late and large reconciles
 * within what is usual.
 */
export function ordinaryDay({ refreshEveryMinutes }: { refreshEveryMinutes: number }): MetricStreams {
  const streams = new MetricStreams();
  scheduleRuns(streams, { refreshEveryMinutes, leftOut: 2 });
  for (let minute = start - 5 * 60; minute < dayEnds; minute++) {
    for (const name of ofApi) streams.invoke(name, minute, minute % 6 === 0 ? 'fails' : 'succeeds');
    for (let request = 0; request < 9 && minute % 60 === 0; request++)
      streams.invoke('lfsVerify', minute, 'is throttled');
    for (const name of backgroundFunctions) {
      if (minute % 60 === 0) streams.invoke(name, minute, 'is throttled');
      // A run that crashes, and is retried.
      if (minute % 360 === 90 && name !== 'refresh') streams.invoke(name, minute, 'fails');
    }
    if (minute % 360 === 90) streams.refresh(minute, 'throws');
    streams.answer(minute, 200, 4_000);
    streams.answer(minute, 401, 500);
    // One in a hundred waits for a reconcile, and sometimes two.
    for (let batch = 0; batch < 200; batch++)
      streams.publish('Duration of lfsBatch', minute, batch < (minute % 30 < 5 ? 10 : 1) ? 15_000 : 300);
    if (minute % 60 < 5) streams.throttleTable(minute, 40);
    if (minute % 4 === 0) for (let request = 0; request < 4; request++) streams.throttleRequest(minute);
    if (minute % 7 === 0) streams.answer(minute, 503);
    // A tenant's downloads are used up, and it goes on trying.
    for (let request = 0; request < 20; request++) streams.answer(minute, 509);
    for (const name of backgroundFunctions)
      if (name !== 'reconcile' && name !== 'refresh') streams.invoke(name, minute);
    streams.reconcile(minute, { shortfallBytes: 60 * gib, ageHours: 24.2 });
    const oldestSeconds = minute % 180 < 45 ? 60 * (minute % 180) : 40;
    streams.queueState('ReconcileQueue', minute, { oldestSeconds });
    streams.queueState('StoreEventsQueue', minute, { oldestSeconds: 20 });
    streams.queueState('WebhookWorkQueue', minute, { oldestSeconds: 30 });
    streams.queueState('EmailWorkQueue', minute, { oldestSeconds: 30 });
    streams.queueState('ExportWorkQueue', minute, { oldestSeconds: 300 });
    streams.queueState('ChunkWorkQueue', minute, { oldestSeconds: 60 });
    streams.queueState('CopyWorkQueue', minute, { oldestSeconds: 120 });
  }
  outage(streams, { from: start + 400, minutes: 10 });
  // The table fails for five minutes.
  for (let minute = start + 630; minute < start + 635; minute++) streams.refresh(minute, 'throws');
  return streams;
}

/** Runs of the schedule, before and after `start`. */
function scheduleRuns(
  streams: MetricStreams,
  given: {
    refreshEveryMinutes: number;
    /** One run of that many, beginning with the first after `start`, does not happen. */
    leftOut?: number;
    until?: number;
    outcome?: Parameters<MetricStreams['refresh']>[1];
    from?: number;
  },
): void {
  const { refreshEveryMinutes: every, until = dayEnds, from = 0, outcome = 'succeeds' } = given;
  let after = 0;
  for (let minute = from; minute < until; minute += every) {
    if (minute >= start && ++after === given.leftOut) continue;
    streams.refresh(minute, outcome);
  }
}

/** While the store does not answer, each tenant's reconcile fails, and is tried again until it does. */
function outage(streams: MetricStreams, { from, minutes }: { from: number; minutes: number }): void {
  for (let tenant = 0; tenant < 40; tenant++) {
    const first = from + (tenant % minutes);
    const retriesAfter = [0, 1, 3, 6, 10];
    const tries = retriesAfter.filter((after) => first + after < from + minutes).length;
    streams.failingReconcile(first, { runMinutes: 0, tries });
  }
}

/** Something that needs a person, and the minutes within which an alarm must say so. */
interface Fault {
  readonly what: string;
  readonly withinMinutes: number;
  readonly publish: (streams: MetricStreams) => void;
}

const fault = (what: string, withinMinutes: number, publish: Fault['publish']): Fault => ({
  what,
  withinMinutes,
  publish,
});

/** A message whose run crashes is hidden for half an hour, or, by the function, for some minutes. */
const eachCrash = (name: FunctionName) =>
  name === 'reconcile' ? [0, 35, 70, 105] : Array.from({ length: 10 }, (_, run) => run * 6);
const burst = Array.from({ length: 10 }, () => 0);
const eachMinute = burst.map((_, minute) => minute);

/** Runs of a function that all end alike, in these minutes of the fault. */
const runsOf = (
  name: FunctionName,
  minutes: readonly number[],
  outcome: 'fails' | 'is throttled',
  withinMinutes = 10,
) => [
  fault(`a run of ${name} ${outcome} in each of the minutes ${minutes}`, withinMinutes, (streams) => {
    for (const minute of minutes) streams.invoke(name, faultBegins + minute, outcome);
  }),
];

/** A message waits ever longer in a queue. */
const waiting = (queue: Queue, withinMinutes: number) => [
  fault(`nothing takes the messages of ${queue}`, withinMinutes, (streams) => {
    for (let waited = 0; waited < withinMinutes + 60; waited++)
      streams.queueState(queue, faultBegins + waited, { oldestSeconds: 60 * waited });
  }),
];

/** What each alarm is there for. */
export const faults: Readonly<Record<string, readonly Fault[]>> = {
  DeadLetters: [
    fault('a reconcile fails 20 times', 160, (streams) => {
      const givenUp = streams.failingReconcile(faultBegins, { runMinutes: 0 });
      streams.deadLetter('ReconcileQueue', givenUp);
    }),
  ],
  EmailDeadLetters: [
    fault('an e-mail fails 20 times, each after ten minutes', 240, (streams) =>
      streams.deadLetter('EmailWorkQueue', faultBegins + 20 * 10),
    ),
  ],
  WebhookDeadLetters: [
    fault('a message to a webhook fails 20 times, each after three minutes', 70, (streams) =>
      streams.deadLetter('WebhookWorkQueue', faultBegins + 20 * 3),
    ),
  ],
  ExportDeadLetters: [
    fault('a step of an export fails 20 times, each after six minutes', 130, (streams) =>
      streams.deadLetter('ExportWorkQueue', faultBegins + 20 * 6),
    ),
  ],
  ChunkDeadLetters: [
    fault('a chunk cannot be read 20 times, in a quarter of an hour', 25, (streams) =>
      streams.deadLetter('ChunkWorkQueue', faultBegins + 15),
    ),
  ],
  CopyDeadLetters: [
    fault('a run of a copy dies five times, each found after 16 minutes', 100, (streams) =>
      streams.deadLetter('CopyWorkQueue', faultBegins + 5 * 16),
    ),
  ],
  StoreEventsDeadLetters: [
    fault('an event cannot be recorded in two hours', 135, (streams) =>
      streams.deadLetter('StoreEventsQueue', faultBegins + 127),
    ),
  ],
  ReconcilesLate: waiting('ReconcileQueue', 70),
  WebhookQueueLate: waiting('WebhookWorkQueue', 70),
  EmailQueueLate: waiting('EmailWorkQueue', 70),
  StoreEventsQueueLate: waiting('StoreEventsQueue', 70),
  ChunkQueueLate: waiting('ChunkWorkQueue', 70),
  ExportQueueLate: waiting('ExportWorkQueue', 370),
  CopyQueueLate: waiting('CopyWorkQueue', 70),
  ReconcilesFailed: [
    fault("one tenant's reconciles fail at once", 60, (streams) => {
      streams.failingReconcile(faultBegins, { runMinutes: 0 });
    }),
    fault("one tenant's reconciles fail at the end of a run", 60, (streams) => {
      streams.failingReconcile(faultBegins, { runMinutes: timeLimitMinutes - 0.2 });
    }),
    fault(
      "one tenant's reconciles fail at the end of the longest run that a stage may have",
      75,
      (streams) => {
        streams.failingReconcile(faultBegins, { runMinutes: 14.8 });
      },
    ),
    fault("one tenant's reconciles fail for hours, and are tried every ten minutes", 5, (streams) => {
      const soonerMinutes = 120;
      streams.failingReconcile(faultBegins - soonerMinutes, { runMinutes: 1, tries: attemptsMax });
    }),
  ],
  ApiErrors: [
    fault('five requests in five minutes are answered with 5xx', 10, (streams) => {
      for (let request = 0; request < 5; request++) streams.answer(faultBegins, 503);
    }),
  ],
  RequestsThrottled: [
    fault('ten requests of a burst are too many for a route', 10, (streams) => {
      for (let request = 0; request < 10; request++) streams.throttleRequest(faultBegins);
    }),
  ],
  ClientErrors: [
    fault('17 requests a second have a wrong token', 10, (streams) => {
      for (let minute = 0; minute < 10; minute++) streams.answer(faultBegins + minute, 401, 1_020);
    }),
  ],
  RequestFlood: [
    fault('each LFS route gets 40 requests a second', 10, (streams) => {
      for (let minute = 0; minute < 10; minute++) streams.answer(faultBegins + minute, 200, 6 * 40 * 60);
    }),
  ],
  BatchSlow: [
    fault('each tenth batch takes 11 s', 30, (streams) => {
      for (let batch = 0; batch < 600; batch++)
        streams.publish('Duration of lfsBatch', faultBegins + batch / 20, batch % 10 === 0 ? 11_000 : 300);
    }),
  ],
  ...Object.fromEntries(
    ['Table', 'ByKind', 'ByDue'].flatMap((place) =>
      ['Read', 'Write'].map((kind) => [
        `${place}${kind}Throttles`,
        [
          fault('DynamoDB refuses 30 a minute', 20, (streams) => {
            for (let minute = 0; minute < 15; minute++) streams.throttleTable(faultBegins + minute, 30);
          }),
        ],
      ]),
    ),
  ),
  FunctionsThrottled: runsOf('lfsBatch', [...burst, ...burst], 'is throttled'),
  RefreshStopped: [
    fault('the schedule is disabled', 6 * 60, (streams) => {
      scheduleRuns(streams, { refreshEveryMinutes: 1, until: faultBegins });
    }),
    ...(['throws', 'times out', 'is throttled'] as const).map((outcome) =>
      fault(`each run of the schedule ${outcome}`, 6 * 60, (streams) => {
        scheduleRuns(streams, { refreshEveryMinutes: 1, until: faultBegins });
        scheduleRuns(streams, { refreshEveryMinutes: 1, from: faultBegins, outcome });
      }),
    ),
  ],
  Drift: [
    fault('a reconcile finds 100 GiB that the counter did not have', 60, (streams) => {
      streams.reconcile(faultBegins, { shortfallBytes: 100 * gib });
    }),
  ],
  ReconcileAgeHigh: [
    fault('a count was 36 hours old when it was replaced', 60, (streams) => {
      streams.reconcile(faultBegins, { ageHours: 36 });
    }),
  ],
  refreshErrors: (['throws', 'times out'] as const).map((outcome) =>
    fault(`each run of the schedule ${outcome}`, 60, (streams) => {
      scheduleRuns(streams, { refreshEveryMinutes: 1, from: faultBegins, until: faultBegins + 60, outcome });
    }),
  ),
  refreshThrottles: [
    fault('a run of the schedule is throttled for minutes', 10, (streams) => {
      streams.refresh(faultBegins, 'is throttled');
    }),
  ],
  ...Object.fromEntries(
    names
      .filter((name) => name !== 'refresh')
      .flatMap((name) => {
        // Clients of the API try again. What fails behind a queue, nobody sees.
        const isOfApi = ofApi.includes(name);
        return [
          [
            `${name}Errors`,
            isOfApi ? runsOf(name, eachMinute, 'fails') : runsOf(name, eachCrash(name), 'fails', 115),
          ],
          [`${name}Throttles`, runsOf(name, isOfApi ? burst : eachMinute, 'is throttled')],
        ];
      }),
  ),
};

/** The schedule of a stage stops. */
export function stoppedSchedule({ refreshEveryMinutes }: { refreshEveryMinutes: number }): MetricStreams {
  const streams = new MetricStreams();
  scheduleRuns(streams, { refreshEveryMinutes, until: faultBegins });
  return streams;
}
