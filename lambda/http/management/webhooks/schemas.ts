import * as z from 'zod';
import { time } from '../../../api/contract/fields.ts';
import { webhookFailures } from '../../../domain/webhook.ts';

const lastSchema = z
  .object({
    eventId: z.string().meta({ examples: ['acme:7'] }),
    type: z.string().meta({ examples: ['storage.level'] }),
    at: time,
    attempt: z.int().min(1).meta({ description: 'The first one is 1, the last one 8.' }),
    outcome: z.enum(['delivered', 'failed', 'given-up']).meta({
      description: 'failed: it is sent again at nextAt. given-up: it is not.',
    }),
    status: z.int().nullable().meta({ description: 'What the receiver answered. null: nothing.' }),
    failure: z.enum(webhookFailures).nullable(),
    nextAt: time.nullable(),
  })
  .meta({ id: 'WebhookAttempt' });

export const webhookSchema = z
  .object({
    url: z.string(),
    createdAt: time,
    secretChangedAt: time,
    last: lastSchema
      .nullable()
      .meta({ description: 'The last attempt. null: there was none to this address.' }),
  })
  .meta({ id: 'Webhook' });

export const setWebhookSchema = webhookSchema
  .extend({
    secret: z
      .string()
      .nullable()
      .meta({ description: 'The new secret, `whsec_…`. It is answered this once. null: it is as it was.' }),
  })
  .meta({ id: 'WebhookWithSecret' });

export const webhookTestSchema = z
  .object({ tenant: z.string(), eventId: z.string() })
  .meta({ id: 'WebhookTest' });

export type WebhookBody = z.output<typeof webhookSchema>;
