import * as z from 'zod';
import { isTenantName } from '../rules/names.ts';
import { isCorrelationId } from '../rules/system.ts';
import { parseJson } from '../rules/text.ts';

/** A message of the queue of webhooks. */
const webhookMessage = z.object({
  tenant: z.string().refine(isTenantName),
  event: z.object({
    id: z.string().regex(/^[0-9A-Za-z:-]{1,100}$/),
    type: z.enum(['storage.level', 'storage.full', 'webhook.test']),
    timestamp: z.iso.datetime(),
    data: z.record(z.string(), z.union([z.string(), z.number(), z.null()])),
  }),
  // For the log alone.
  correlationId: z.string().refine(isCorrelationId).optional().catch(undefined),
});

/** @returns undefined if the body is nothing that can be sent. Retrying never helps then. */
export function decodeWebhookMessage(body: string): z.output<typeof webhookMessage> | undefined {
  return webhookMessage.safeParse(parseJson(body)).data;
}
