import type { SQSRecord } from 'aws-lambda';
import { decodeWebhookMessage, deliverToWebhook } from '../alerts/webhooks.ts';
import { deployed } from '../aws/deployed.ts';
import { consumeEach, delayRedelivery } from '../aws/function.ts';
import { webhookDeps } from '../compose.ts';
import type { Deps } from '../deps.ts';
import type { Redelivery } from '../ledger/rules/reconcile-policy.ts';

/** When the table does not answer. */
const retryMs = 60_000;

type SenderDeps = Pick<Deps, 'webhooks' | 'webhookSender' | 'clock' | 'log' | 'invocations'> & {
  readonly redelivery: Redelivery;
};

/** The consumer of what is to be sent to webhooks. What fails is delivered again, later each time. */
export function create(deps: SenderDeps) {
  return consumeEach(deps.invocations, (record) => consumeRecord(deps, record));
}

async function consumeRecord(deps: SenderDeps, record: SQSRecord): Promise<boolean> {
  const { receiptHandle } = record;
  const attempt = Math.max(1, Number(record.attributes.ApproximateReceiveCount) || 1);
  const message = decodeWebhookMessage(record.body);
  if (!message) {
    // Not what it says: anybody who may send could have written anything.
    deps.log.error('unreadable message', { receiveCount: attempt });
    return false;
  }
  try {
    const outcome = await deliverToWebhook(deps, { message, attempt });
    if (outcome.kind === 'done') return true;
    await delayRedelivery(deps, { receiptHandle, delayMs: outcome.delayMs });
  } catch (error) {
    deps.log.warn('webhook not sent', { tenant: message.tenant, receiveCount: attempt, error });
    await delayRedelivery(deps, { receiptHandle, delayMs: retryMs });
  }
  return false;
}

export const handler = await deployed(create, webhookDeps);
