import { iso } from '../../../api/contract/fields.ts';
import type { Webhook, WebhookAttempt } from '../../../domain/webhook.ts';
import type { WebhookBody } from './schemas.ts';

/** Without its secrets. */
export function webhookBody({ url, createdAtMs, secretChangedAtMs, last }: Webhook): WebhookBody {
  return {
    url,
    createdAt: iso(createdAtMs),
    secretChangedAt: iso(secretChangedAtMs),
    last: last && lastBody(last),
  };
}

function lastBody(last: WebhookAttempt): NonNullable<WebhookBody['last']> {
  const { eventId, type, atMs, attempt, status, failure, nextAtMs } = last;
  const outcome = failure === null ? 'delivered' : nextAtMs === null ? 'given-up' : 'failed';
  const nextAt = nextAtMs === null ? null : iso(nextAtMs);
  return { eventId, type, at: iso(atMs), attempt, outcome, status, failure, nextAt };
}
