import type { Deps } from '../../deps.ts';
import { nextDelayMs, secretsOf, type WebhookAttempt, webhookHeaders } from '../../domain/webhook.ts';
import type { WebhookMessage } from '../../ports/webhooks.ts';

export type DeliveryOutcome =
  /** Delivered, given up, or the tenant has no webhook. */
  | { readonly kind: 'done' }
  /** It is to be sent again. */
  | { readonly kind: 'again'; readonly delayMs: number };

/**
 * Sends an event to the tenant's webhook, as it is now, and notes what became of it.
 *
 * @param input.attempt the first one is 1.
 * @throws {LedgerUnavailableError} It may have been sent.
 */
export async function deliverToWebhook(
  deps: Pick<Deps, 'webhooks' | 'webhookSender' | 'clock' | 'log'>,
  input: { message: WebhookMessage; attempt: number },
): Promise<DeliveryOutcome> {
  const { webhooks, webhookSender, clock, log } = deps;
  const { message, attempt } = input;
  const { tenant, event } = message;
  const { id, type, timestamp, data } = event;
  const webhook = await webhooks.read(tenant);
  if (!webhook) return { kind: 'done' };
  const { url } = webhook;
  const atMs = clock.nowMs();
  const body = JSON.stringify({ type, timestamp, data });
  const headers = webhookHeaders({
    secrets: secretsOf(webhook, atMs),
    id,
    timestampSeconds: Math.floor(atMs / 1000),
    body,
  });
  const answer = await webhookSender.post({ url, headers, body });
  const status = answer.kind === 'answered' ? answer.status : null;
  const isDelivered = status !== null && status >= 200 && status < 300;
  const delayMs = isDelivered ? undefined : nextDelayMs({ attempt, status, isTest: type === 'webhook.test' });
  const failure = answer.kind === 'failed' ? answer.failure : isDelivered ? null : 'status';
  const nextAtMs = delayMs === undefined ? null : clock.nowMs() + delayMs;
  const made: WebhookAttempt = { eventId: id, type, atMs, attempt, status, failure, nextAtMs };
  const fields = { tenant, eventId: id, type, attempt, status };
  if (isDelivered) log.info('webhook delivered', fields);
  else log.warn('webhook not delivered', { ...fields, failure, givenUp: delayMs === undefined });
  try {
    await webhooks.noteAttempt({ tenant, url, attempt: made });
  } catch (error) {
    // It was sent: a table that does not answer is no reason to send it once more.
    log.warn('webhook attempt not noted', { tenant, eventId: id, error });
  }
  return delayMs === undefined ? { kind: 'done' } : { kind: 'again', delayMs };
}
