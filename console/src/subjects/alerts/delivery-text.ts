import { formatAge } from '../../../../cli/render.ts';
import type { WebhookBody } from '../../../../lambda/subjects/alerts/webhook-contract.ts';

const outcomes = {
  delivered: 'delivered',
  failed: 'failed, is retried',
  'given-up': 'not delivered',
} as const;

/** What the last delivery came to. */
export function deliveryText(last: NonNullable<WebhookBody['last']>, nowMs: number): string {
  const why = last.outcome === 'delivered' ? '' : ` (${last.failure ?? last.status})`;
  return `Last: ${last.type}, ${formatAge(last.at, nowMs)}, ${outcomes[last.outcome]}${why}`;
}
