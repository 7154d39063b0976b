import { hash } from 'node:crypto';
import {
  ChangeMessageVisibilityCommand,
  SendMessageBatchCommand,
  type SendMessageBatchCommandOutput,
  SendMessageCommand,
  SQSClient,
  type SQSClientConfig,
} from '@aws-sdk/client-sqs';
import {
  type ReconcileQueue,
  type ReconcileRequest,
  reconcileCollapseMs,
  urgencyOf,
} from '../../core/ledger/rules/reconcile-policy.ts';
import { forEachLimited } from '../../core/rules/async.ts';
import { type Clock, causeOf, type Invocations } from '../../core/rules/clock-and-log.ts';
import type { JobQueue } from '../../core/rules/jobs.ts';
import { type CallLimits, calling, clientOptions } from '../../core/table/sdk.ts';
import type { Redelivery } from './sqs-consumer.ts';

/** Of one request. What comes twice is a message more, unless the queue is FIFO: it drops what has the same id. */
const sendLimits = { attemptsMax: 5, connectMs: 1000, answerMs: 3000 };

/** For a run that failed at its deadline and has little time left, and for somebody who looks at a page. */
export const quickLimits = { attemptsMax: 2, connectMs: 1000, answerMs: 2000 };

/** @param config goes before what the environment says. */
export function createSqsClient(limits: CallLimits = sendLimits, config: SQSClientConfig = {}): SQSClient {
  // By default a queue is reached at the host of its URL, whatever stands in for SQS.
  return new SQSClient({ ...clientOptions(limits), useQueueUrlAsEndpoint: false, ...config });
}

/** Messages that SQS accepts in one request, at most. */
const sendBatchMax = 10;
const sendAttemptsMax = 3;
const sendPauseMs = 200;

/** A queue, and what its client waits by. */
interface Queue<C = Pick<Clock, 'sleep'>> {
  readonly client: SQSClient;
  readonly queueUrl: string;
  readonly clock: C;
  readonly invocations: Invocations;
}

interface Entry {
  readonly MessageBody: string;
  readonly MessageGroupId?: string;
  readonly MessageDeduplicationId?: string;
}

/** The job, and for the log the request that asked for it. Of requests that collapse, the first one's is kept. */
const bodyOf = ({ invocations }: Queue<unknown>, job: object) =>
  JSON.stringify({ ...job, correlationId: causeOf(invocations.current()) });

/** Sends jobs in their order, so many requests at a time. @throws {AwsServiceError} if some were not taken. Others may have been. */
async function sendAll<M>(
  queue: Queue,
  { jobs, atOnce, entryOf }: { jobs: readonly M[]; atOnce: number; entryOf: (job: M) => Entry },
): Promise<void> {
  const begins = Array.from({ length: Math.ceil(jobs.length / sendBatchMax) }, (_, n) => n * sendBatchMax);
  await forEachLimited(begins, atOnce, (begin) =>
    sendBatch(queue, jobs.slice(begin, begin + sendBatchMax).map(entryOf)),
  );
}

/**
 * Sends messages in one request, and those that were not taken again.
 *
 * @throws when the queue did not take some.
 */
async function sendBatch(
  { client, queueUrl: QueueUrl, clock }: Queue,
  messages: readonly Entry[],
): Promise<void> {
  let left = messages.map((message, index) => ({ Id: String(index), ...message }));
  let codes = '';
  for (let attempt = 1; attempt <= sendAttemptsMax; attempt += 1) {
    if (attempt > 1) await clock.sleep(sendPauseMs * attempt);
    const command = new SendMessageBatchCommand({ QueueUrl, Entries: left });
    const answer = await calling({ title: 'SQS', operation: 'SendMessageBatch' }, () => client.send(command));
    const taken = new Map(answer.Successful?.map((each) => [each.Id, each]));
    // Whether the answer says so or not: an entry in neither list was not taken.
    left = left.filter(({ Id, MessageBody }) => !isTaken(taken.get(Id), MessageBody));
    if (left.length === 0) return;
    codes = failureCodes(answer);
  }
  throw new Error(`The queue rejected ${left.length} of ${messages.length} messages: ${codes}.`);
}

/**
 * What SQS says about a message that it has taken: the MD5 of the body, a proof that the answer is to this message. The
 * SDK compares it too, but only if the answer has it.
 */
function isTaken(answer: { readonly MD5OfMessageBody?: string | undefined } | undefined, body: string) {
  return answer?.MD5OfMessageBody === hash('md5', body, 'hex');
}

/** Why SQS has not taken some messages: each code once. */
function failureCodes({ Failed = [] }: SendMessageBatchCommandOutput): string {
  return [...new Set(Failed.map(({ Code }) => String(Code)))].join(', ') || 'without a reason';
}

/** Requests of one call to send at a time. An export has 400 units at most, so these are 40 requests. */
const batchesAtOnce = 40;

/** A standard queue of SQS: jobs may be consumed at the same time, and come in any order. */
export const createSqsJobQueue = <M extends object>(queue: Queue): JobQueue<M> => ({
  send: (jobs) =>
    sendAll(queue, {
      jobs,
      atOnce: batchesAtOnce,
      entryOf: (job) => ({ MessageBody: bodyOf(queue, job) }),
    }),
});

/**
 * Requests of different kinds do not collapse. So a request that a user waits for never joins an upload's message,
 * which the policy may defer. See `ReconcileQueue` in `lambda/core/ledger/rules/reconcile-policy.ts`.
 */
function kindOf({ reason, full }: ReconcileRequest): string {
  const source = reason === 'schedule' ? 'schedule' : urgencyOf(reason);
  return `${full ? 'full' : 'due'}.${source}`;
}

/** Requests with the same id become one message: those of one tenant, of one kind, in one bucket of time. */
export function deduplicationId(request: ReconcileRequest, nowMs: number): string {
  return `${request.tenant}.${kindOf(request)}.${Math.floor(nowMs / reconcileCollapseMs)}`;
}

/** Ids that are remembered, at most. Beyond that, some are sent again, and the queue drops them. */
const idsMax = 1000;

/** The reconcile queue on SQS FIFO. Each tenant is a message group, so its messages are handled one at a time. */
export function createSqsReconcileQueue(queue: Queue<Clock>): ReconcileQueue {
  const { client, queueUrl: QueueUrl, clock } = queue;
  /**
   * The deduplication ids that this process has sent. The queue remembers an id for five minutes and drops what comes with
   * it again, but bills for it. An id names a time of 30 seconds, so it is not asked for any later.
   */
  const sentIds = new Set<string>();
  const entryOf = (request: ReconcileRequest) => ({
    MessageBody: bodyOf(queue, request),
    MessageGroupId: request.tenant,
    MessageDeduplicationId: deduplicationId(request, clock.nowMs()),
  });
  return {
    async request(request) {
      const sent = entryOf(request);
      if (sentIds.has(sent.MessageDeduplicationId)) return;
      const command = new SendMessageCommand({ QueueUrl, ...sent });
      const answer = await calling({ title: 'SQS', operation: 'SendMessage' }, () => client.send(command));
      if (!isTaken(answer, sent.MessageBody)) throw new Error('The queue did not confirm the message.');
      // Only now: one that was lost must be sent again.
      if (sentIds.size >= idsMax) sentIds.clear();
      sentIds.add(sent.MessageDeduplicationId);
    },
    requestAll: (requests) => sendAll(queue, { jobs: requests, atOnce: 1, entryOf }),
  };
}

/**
 * Redelivery by SQS. A failed message stays hidden for the queue's visibility timeout, unless this changes the timeout
 * of that delivery.
 */
export function createSqsRedelivery(input: { client: SQSClient; queueUrl: string }): Redelivery {
  const { client, queueUrl: QueueUrl } = input;
  return {
    async delay({ receiptHandle: ReceiptHandle, delayMs }) {
      const VisibilityTimeout = Math.ceil(delayMs / 1000);
      const command = new ChangeMessageVisibilityCommand({ QueueUrl, ReceiptHandle, VisibilityTimeout });
      await calling({ title: 'SQS', operation: 'ChangeMessageVisibility' }, () => client.send(command));
    },
  };
}
