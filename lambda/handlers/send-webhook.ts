import type { AlertPorts } from '../alerts/ports.ts';
import { decodeWebhookMessage, deliverToWebhook } from '../alerts/webhooks.ts';
import { deployed } from '../aws/deployed.ts';
import { consumeEach } from '../aws/function.ts';
import { webhookDeps } from '../compositions/send-webhook.ts';
import type { CoreDeps } from '../ledger/core-deps.ts';
import type { Redelivery } from '../ledger/rules/reconcile-policy.ts';
import type { FunctionPorts } from '../rules/clock-and-log.ts';

/** When the table does not answer. */
const retryMs = 60_000;

type SenderDeps = Pick<CoreDeps, 'clock' | 'log'> &
  Pick<AlertPorts, 'webhooks' | 'webhookSender'> &
  FunctionPorts & {
    readonly redelivery: Redelivery;
  };

/** The consumer of what is to be sent to webhooks. What fails is delivered again, later each time. */
export function create(deps: SenderDeps) {
  return consumeEach(deps, decodeWebhookMessage, async (message, { receiveCount: attempt, again }) => {
    try {
      const outcome = await deliverToWebhook(deps, { message, attempt });
      return outcome.kind === 'done' || again(outcome.delayMs);
    } catch (error) {
      deps.log.warn('webhook not sent', { tenant: message.tenant, receiveCount: attempt, error });
      return again(retryMs);
    }
  });
}

export const handler = await deployed(create, webhookDeps);
