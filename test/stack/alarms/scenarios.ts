import { type FunctionName, handlerFiles } from '../../../lambda/routes.ts';
import { attemptsMax, faultBegins, MetricStreams, start, timeLimitMinutes } from './metric-streams.ts';

const gib = 1024 ** 3;
const names = Object.keys(handlerFiles) as FunctionName[];
const background: readonly FunctionName[] = [
  'reconcile',
  'scanShard',
  'refresh',
  'sendWebhook',
  'exportArchive',
  'storeEvents',
];
const ofApi = names.filter((name) => !background.includes(name));

/** When the observed day ends. */
export const dayEnds = start + 26 * 60;

/**
 * A busy day on which nothing needs a person: single errors and throttled requests that clients retried, an outage of
 * the store for ten minutes, a run of the schedule that is left out, late and large recounts within what is usual.
 */
export function ordinaryDay({ refreshEveryMinutes }: { refreshEveryMinutes: number }): MetricStreams {
  const streams = new MetricStreams();
  scheduleRuns(streams, { refreshEveryMinutes, leftOut: 2 });
  for (let minute = start - 5 * 60; minute < dayEnds; minute++) {
    for (const name of ofApi) streams.invoke(name, minute, minute % 6 === 0 ? 'fails' : 'succeeds');
    for (let request = 0; request < 9 && minute % 60 === 0; request++)
      streams.invoke('lfsVerify', minute, 'is throttled');
    for (const name of background) if (minute % 60 === 0) streams.invoke(name, minute, 'is throttled');
    for (let request = 0; request < 20; request++) streams.answer(minute, 200);
    if (minute % 4 === 0) for (let request = 0; request < 4; request++) streams.throttleRequest(minute);
    if (minute % 7 === 0) streams.answer(minute, 503);
    // A tenant's downloads are used up, and it goes on trying.
    for (let request = 0; request < 20; request++) streams.answer(minute, 509);
    streams.invoke('storeEvents', minute);
    streams.invoke('scanShard', minute);
    streams.invoke('exportArchive', minute);
    streams.invoke('sendWebhook', minute);
    streams.recount(minute, { shortfallBytes: 60 * gib, ageHours: 24.2 });
    const oldestSeconds = minute % 180 < 45 ? 60 * (minute % 180) : 40;
    streams.queueState('ReconcileQueue', minute, { oldestSeconds });
    streams.queueState('StoreEventsQueue', minute, { oldestSeconds: 20 });
    streams.queueState('WebhookWorkQueue', minute, { oldestSeconds: 30 });
    streams.queueState('ExportWorkQueue', minute, { oldestSeconds: 300 });
  }
  outage(streams, { from: start + 400, minutes: 10 });
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

/** While the store does not answer, each tenant's recount fails, and is tried again until it does. */
function outage(streams: MetricStreams, { from, minutes }: { from: number; minutes: number }): void {
  for (let tenant = 0; tenant < 40; tenant++) {
    const first = from + (tenant % minutes);
    const retriesAfter = [0, 1, 3, 6, 10];
    const tries = retriesAfter.filter((after) => first + after < from + minutes).length;
    streams.failingRecount(first, { runMinutes: 0, tries });
  }
}

/** Something that needs a person, and the minutes within which an alarm must say so. */
export interface Fault {
  readonly what: string;
  readonly withinMinutes: number;
  readonly publish: (streams: MetricStreams) => void;
}

const fault = (what: string, withinMinutes: number, publish: Fault['publish']): Fault => ({
  what,
  withinMinutes,
  publish,
});

/** What each alarm is there for. */
export const faults: Readonly<Record<string, readonly Fault[]>> = {
  DeadLetters: [
    fault('a recount fails 20 times', 160, (streams) => {
      const givenUp = streams.failingRecount(faultBegins, { runMinutes: 0 });
      for (let minute = faultBegins; minute < faultBegins + 300; minute++)
        streams.queueState('ReconcileQueue', minute, {
          oldestSeconds: 0,
          deadLetters: minute >= givenUp ? 1 : 0,
        });
    }),
  ],
  WebhookDeadLetters: [
    fault('a message to a webhook fails 20 times, each after three minutes', 70, (streams) => {
      for (let minute = faultBegins; minute < faultBegins + 300; minute++)
        streams.queueState('WebhookWorkQueue', minute, {
          oldestSeconds: 0,
          deadLetters: minute >= faultBegins + 20 * 3 ? 1 : 0,
        });
    }),
  ],
  ExportDeadLetters: [
    fault('a step of an export fails 20 times, each after six minutes', 130, (streams) => {
      for (let minute = faultBegins; minute < faultBegins + 300; minute++)
        streams.queueState('ExportWorkQueue', minute, {
          oldestSeconds: 0,
          deadLetters: minute >= faultBegins + 20 * 6 ? 1 : 0,
        });
    }),
  ],
  StoreEventsDeadLetters: [
    fault('an event cannot be recorded in two hours', 135, (streams) => {
      for (let minute = faultBegins; minute < faultBegins + 300; minute++)
        streams.queueState('StoreEventsQueue', minute, {
          oldestSeconds: 0,
          deadLetters: minute >= faultBegins + 127 ? 1 : 0,
        });
    }),
  ],
  RecountsLate: [
    fault('more recounts are asked for than are made', 70, (streams) => {
      for (let waited = 0; waited < 300; waited++)
        streams.queueState('ReconcileQueue', faultBegins + waited, { oldestSeconds: 60 * waited });
    }),
  ],
  RecountsFailed: [
    fault("one tenant's recounts fail at once", 60, (streams) => {
      streams.failingRecount(faultBegins, { runMinutes: 0 });
    }),
    fault("one tenant's recounts fail at the end of a run", 60, (streams) => {
      streams.failingRecount(faultBegins, { runMinutes: timeLimitMinutes - 0.2 });
    }),
    fault("one tenant's recounts fail at the end of the longest run that a stage may have", 75, (streams) => {
      streams.failingRecount(faultBegins, { runMinutes: 14.8 });
    }),
    fault("one tenant's recounts fail for hours, and are tried every ten minutes", 5, (streams) => {
      const soonerMinutes = 120;
      streams.failingRecount(faultBegins - soonerMinutes, { runMinutes: 1, tries: attemptsMax });
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
    fault('a recount finds 100 GiB that the counter did not have', 60, (streams) => {
      streams.recount(faultBegins, { shortfallBytes: 100 * gib });
    }),
  ],
  RecountAge: [
    fault('a count was 36 hours old when it was replaced', 60, (streams) => {
      streams.recount(faultBegins, { ageHours: 36 });
    }),
  ],
  refreshErrors: [
    fault('a run of the schedule throws, and so do its retries', 10, (streams) => {
      streams.refresh(faultBegins, 'throws');
    }),
    fault('a run of the schedule times out, and so do its retries', 20, (streams) => {
      streams.refresh(faultBegins, 'times out');
    }),
  ],
  refreshThrottles: [
    fault('a run of the schedule is throttled for minutes', 10, (streams) => {
      streams.refresh(faultBegins, 'is throttled');
    }),
  ],
  ...Object.fromEntries(
    (['reconcile', 'scanShard', 'sendWebhook', 'exportArchive', 'storeEvents'] as const).flatMap((name) => [
      [
        `${name}Errors`,
        [fault(`one run of ${name} dies`, 10, (streams) => streams.invoke(name, faultBegins, 'fails'))],
      ],
      [
        `${name}Throttles`,
        [
          fault(`Lambda may not run ${name}, and tries every minute`, 10, (streams) => {
            for (let minute = 0; minute < 10; minute++)
              streams.invoke(name, faultBegins + minute, 'is throttled');
          }),
        ],
      ],
    ]),
  ),
  ...Object.fromEntries(
    ofApi.flatMap((name) => [
      [
        `${name}Errors`,
        [
          fault(`${name} fails each minute`, 10, (streams) => {
            for (let minute = 0; minute < 10; minute++) streams.invoke(name, faultBegins + minute, 'fails');
          }),
        ],
      ],
      [
        `${name}Throttles`,
        [
          fault(`ten requests to ${name} in one minute are throttled`, 10, (streams) => {
            for (let request = 0; request < 10; request++) streams.invoke(name, faultBegins, 'is throttled');
          }),
        ],
      ],
    ]),
  ),
};

/** The schedule of a stage stops. */
export function stoppedSchedule({ refreshEveryMinutes }: { refreshEveryMinutes: number }): MetricStreams {
  const streams = new MetricStreams();
  scheduleRuns(streams, { refreshEveryMinutes, until: faultBegins });
  return streams;
}
