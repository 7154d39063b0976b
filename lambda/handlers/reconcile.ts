import type { Context, SQSBatchResponse, SQSEvent, SQSRecord } from 'aws-lambda';
import { deployed } from '../aws/deployed.ts';
import {
  delayRedelivery,
  redeliveryDelayMs,
  unreadableDelayMs,
  warmUpScan,
  withMetrics,
} from '../aws/function.ts';
import { reconcileDeps } from '../compose.ts';
import type { Deps } from '../deps.ts';
import type { GcDeps } from '../gc/gc.ts';
import type { ReconcileDeps } from '../ledger/reconcile.ts';
import { decodeReconcileMessage } from '../ledger/reconcile-requests.ts';
import type { Redelivery } from '../ledger/rules/reconcile-policy.ts';
import { runReconcile } from '../ledger/run-reconcile.ts';
import { noteFailedReconcile, whyOf } from '../status/status.ts';

/** Time kept back from the function's limit, to commit and to hand over what is not done. */
const reserveMs = 10_000;

type ConsumerDeps = ReconcileDeps &
  GcDeps &
  Pick<
    Deps,
    | 'queue'
    | 'invocations'
    | 'locks'
    | 'publicReads'
    | 'linkedRepos'
    | 'tenantLinks'
    | 'chunkedUploads'
    | 'webhooks'
    | 'emails'
    | 'failures'
  > & {
    readonly redelivery: Redelivery;
  };

/** The queue's consumer. What fails comes again, and after a few times ends in the dead-letter queue. */
export function create(deps: ConsumerDeps) {
  const consume = withMetrics(deps.metrics, (record: SQSRecord, context: Context) =>
    consumeRecord(deps, record, context),
  );
  return async (event: SQSEvent, context: Context): Promise<SQSBatchResponse> => {
    const batchItemFailures: { itemIdentifier: string }[] = [];
    for (const record of event.Records) {
      const { messageId } = record;
      const correlationId = decodeReconcileMessage(record.body)?.correlationId;
      const ids = { messageId, correlationId, functionRequestId: context.awsRequestId };
      const isDone = await deps.invocations.during(ids, () => consume(record, context));
      if (!isDone) batchItemFailures.push({ itemIdentifier: messageId });
    }
    return { batchItemFailures };
  };
}

/** @returns whether it is done; where it is not, the queue has been told when the message is to come again. */
async function consumeRecord(deps: ConsumerDeps, record: SQSRecord, context: Context): Promise<boolean> {
  const { receiptHandle } = record;
  const receiveCount = Number(record.attributes.ApproximateReceiveCount);
  const request = decodeReconcileMessage(record.body);
  if (!request) {
    // Not what it says: anybody who may send could have written anything.
    deps.log.error('unreadable message', { receiveCount, group: record.attributes.MessageGroupId });
    await delayRedelivery(deps, { receiptHandle, delayMs: unreadableDelayMs });
    return false;
  }
  try {
    const deadlineMs = deps.clock.nowMs() + context.getRemainingTimeInMillis() - reserveMs;
    await runReconcile(deps, { request, deadlineMs, isRetry: receiveCount > 1 });
    return true;
  } catch (error) {
    const { tenant } = request;
    deps.log.error('reconcile failed', { tenant, receiveCount, error });
    deps.metrics.increment('ReconcilesFailed');
    // At the same time: a table that does not answer must not keep the queue from hearing when to try again.
    await Promise.all([
      delayRedelivery(deps, { receiptHandle, delayMs: redeliveryDelayMs(receiveCount) }),
      noteFailedReconcile(deps, { tenant, tries: receiveCount || 1, why: whyOf(error) }),
    ]);
    return false;
  }
}

export const handler = await deployed(create, reconcileDeps, warmUpScan);
