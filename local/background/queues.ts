import {
  isReconcileReason,
  type ReconcileQueue,
  type ReconcileRequest,
  urgencyOf,
} from '../../lambda/core/ledger/rules/reconcile-policy.ts';
import { isCorrelationId } from '../../lambda/core/rules/clock-and-log.ts';
import type { SwitchedQueue } from '../../lambda/core/rules/jobs.ts';
import type { Table } from '../../lambda/core/table/requests.ts';
import * as subjectQueues from '../queues.ts';
import { type Codec, type Fence, type Job, type KeptItem, openKept, queuePartitions } from './kept.ts';
import { type Around, Pump, type QueueSpec, type TenantMessage } from './pump.ts';
import type { SubjectQueue } from './subject-queue.ts';

type SubjectQueues = typeof subjectQueues;
export type QueueName = 'reconciles' | keyof SubjectQueues;

/** The queues as the functions know them. */
export type Queues = { readonly queue: ReconcileQueue } & Readonly<
  Record<SubjectQueues[keyof SubjectQueues]['port'], SwitchedQueue<TenantMessage>>
>;

/** By name. Node sorts the names of a namespace, and bundlers don't. */
export const queuesOfSubjects = Object.entries<SubjectQueue>(subjectQueues).sort(([a], [b]) =>
  a < b ? -1 : 1,
) as [keyof SubjectQueues, SubjectQueue][];

/** @param send by the name of a queue. */
export function queuesBy(
  send: (name: QueueName, messages: readonly TenantMessage[]) => Promise<void>,
): Queues {
  const sent = queuesOfSubjects.map(([name, { port }]) => {
    const queue: SwitchedQueue<TenantMessage> = { isOn: true, send: (jobs) => send(name, jobs) };
    return [port, queue];
  });
  const queue: ReconcileQueue = {
    request: (request) => send('reconciles', [request]),
    requestAll: (requests) => send('reconciles', requests),
  };
  return { ...Object.fromEntries(sent), queue } as Queues;
}

export const defaultQueueTiming = {
  /** A reconcile waits until no request came for this long … */
  quietMs: 10_000,
  /** … but at most this long after the first request. */
  quietMaxMs: 20_000,
  /** Shortest time between the starts of two reconciles of one tenant. */
  spacingMs: 10_000,
  /** Delay after the first failure. It doubles with each further failure. */
  retryMs: 5_000,
};
export type QueueTiming = Readonly<typeof defaultQueueTiming>;

/** After this many failures a reconcile becomes a dead letter. */
export const failuresMax = 6;

const isPrompt = ({ reason }: ReconcileRequest) => urgencyOf(reason) === 'decision';

/** A reconcile of the schedule is dropped if it is deferred, so a trigger counts for more. */
function weightOf(request: ReconcileRequest): number {
  if (isPrompt(request)) return 2;
  return request.reason === 'schedule' ? 0 : 1;
}

/** Merges two pending reconciles: full if either is full, and as urgent as the more urgent one. */
export function mergeReconciles(
  older: Job<ReconcileRequest>,
  newer: Job<ReconcileRequest>,
): Job<ReconcileRequest> {
  const { reason } = weightOf(older.message) > weightOf(newer.message) ? older.message : newer.message;
  return {
    ...older,
    message: { ...older.message, reason, full: older.message.full || newer.message.full },
    correlationId: older.correlationId ?? newer.correlationId,
    lastAtMs: newer.lastAtMs,
    failures: Math.max(older.failures, newer.failures),
    notBeforeMs: Math.max(older.notBeforeMs, newer.notBeforeMs),
  };
}

/** A tenant's pending reconcile is all requests since the last one began. If somebody waits for it, it waits for no more. */
export function reconcilesBy(timing: QueueTiming): QueueSpec<ReconcileRequest> {
  return {
    name: 'reconciles',
    atOnce: 4,
    waitingMax: Number.MAX_SAFE_INTEGER,
    attemptsMax: failuresMax,
    idOf: ({ tenant }) => tenant,
    merge: mergeReconciles,
    dueAtMs: ({ message, firstAtMs, lastAtMs, notBeforeMs }, lastBegunAtMs) => {
      const quietAtMs = Math.min(lastAtMs + timing.quietMs, firstAtMs + timing.quietMaxMs);
      const askedMs = isPrompt(message) ? firstAtMs : quietAtMs;
      return Math.max(askedMs, lastBegunAtMs + timing.spacingMs, notBeforeMs);
    },
    retryMs: (failures) => timing.retryMs * 2 ** failures,
    fullDiskRetryMs: 15_000,
    isMore: (now, written) => now.full && !written.full,
  };
}

const fieldsOf = (value: unknown) => Object(value) as Readonly<Record<string, unknown>>;

/** It is delivered at once by the next start. Times in the future, possible when the clock was set back, become now. */
function jobOf<M>(message: M, kept: unknown, { id, nowMs }: KeptItem): Job<M> {
  const { messageId, correlationId, failures, firstAtMs, lastAtMs } = fieldsOf(kept);
  const timeOf = (time: unknown) => (typeof time === 'number' ? Math.min(nowMs, time) : nowMs);
  return {
    message,
    messageId: typeof messageId === 'string' ? messageId : `restored-${id}`,
    correlationId: isCorrelationId(correlationId) ? correlationId : undefined,
    firstAtMs: timeOf(firstAtMs),
    lastAtMs: timeOf(lastAtMs),
    failures: typeof failures === 'number' ? failures : 0,
    notBeforeMs: 0,
  };
}

/** What can't be read still shows that its tenant needs a reconcile, so it becomes a full one. */
export const reconcileCodec: Codec<ReconcileRequest> = {
  // Older versions want `prompt`.
  write: ({ message, ...job }) => ({ ...message, ...job, prompt: isPrompt(message) }),
  read(value, item) {
    const { reason, full } = fieldsOf(value);
    if (isReconcileReason(reason) && typeof full === 'boolean')
      return jobOf({ tenant: item.id, reason, full }, value, item);
    return jobOf({ tenant: item.id, reason: 'unfinished', full: true }, {}, item);
  },
};

/** What is sent. What its message says, its consumer looks at. */
export const sentCodec: Codec<never> = {
  write: (job) => job,
  read(value, item) {
    const { message, messageId, failures } = fieldsOf(value);
    const isReadable = typeof message === 'object' && message !== null && typeof failures === 'number';
    return isReadable && typeof messageId === 'string' ? jobOf(message as never, value, item) : undefined;
  },
};

/** @param leader where processes share the table. */
export function createPumps(
  { table, timing, ...around }: Around & { readonly table: Table; readonly timing: QueueTiming },
  leader?: Fence,
) {
  const { reconciles, deadReconciles } = queuePartitions;
  const kept = <M>(pk: string, codec: Codec<M>) => openKept(table, pk, codec, leader);
  const ofSubjects = queuesOfSubjects.map(([name, { partition, ...spec }]) => {
    const jobs = partition === undefined ? {} : { kept: kept<TenantMessage>(partition, sentCodec) };
    return [name, new Pump({ ...spec, name, ...jobs }, around)];
  });
  return {
    reconciles: new Pump(
      {
        ...reconcilesBy(timing),
        kept: kept(reconciles, reconcileCodec),
        dead: kept(deadReconciles, reconcileCodec),
      },
      around,
    ),
    ...(Object.fromEntries(ofSubjects) as Readonly<Record<keyof SubjectQueues, Pump<TenantMessage>>>),
  };
}
export type Pumps = ReturnType<typeof createPumps>;
