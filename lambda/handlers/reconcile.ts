import type { Context, SQSBatchResponse, SQSEvent } from 'aws-lambda';
import * as z from 'zod';
import { deployed, reconcileDeps, rehearseScan } from '../compose.ts';
import { isTenantName } from '../domain/names.ts';
import type { Redelivery } from '../ports/redelivery.ts';
import { consumeReconcile } from '../use-cases/consume-reconcile.ts';
import { delayRedelivery } from '../use-cases/delay-redelivery.ts';
import type { Deps } from '../use-cases/deps.ts';
import { flushAfter } from '../use-cases/flush-after.ts';
import type { ReconcileDeps } from '../use-cases/reconcile.ts';
import type { DeletionDeps } from '../use-cases/run-deletions.ts';

const message = z.object({
  tenant: z.string().refine(isTenantName),
  full: z.boolean(),
  reason: z.enum([
    'upload',
    'verify',
    'delete',
    'import',
    'miss',
    'refusal',
    'schedule',
    'manual',
    'event',
    'unfinished',
  ]),
});

/** Time kept back from the function's limit, to commit and to hand over what is not done. */
const reserveMs = 10_000;

type ConsumerDeps = ReconcileDeps & DeletionDeps & Pick<Deps, 'queue'> & { readonly redelivery: Redelivery };

/** The queue's consumer. What fails comes again, and after a few times ends in the dead-letter queue. */
export function create(deps: ConsumerDeps) {
  return flushAfter(deps.metrics, async (event: SQSEvent, context: Context): Promise<SQSBatchResponse> => {
    const batchItemFailures: { itemIdentifier: string }[] = [];
    for (const record of event.Records) {
      try {
        const request = message.parse(JSON.parse(record.body));
        const deadlineMs = deps.clock.nowMs() + context.getRemainingTimeInMillis() - reserveMs;
        await consumeReconcile(deps, { request, deadlineMs });
      } catch (error) {
        const reason = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
        const { messageId, receiptHandle } = record;
        deps.log.error('reconcile failed', { messageId, reason });
        const receiveCount = Number(record.attributes.ApproximateReceiveCount);
        await delayRedelivery(deps, { messageId, receiptHandle, receiveCount });
        batchItemFailures.push({ itemIdentifier: messageId });
      }
    }
    return { batchItemFailures };
  });
}

export const handler = await deployed(create, reconcileDeps, rehearseScan);
