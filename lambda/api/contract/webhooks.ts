import * as z from 'zod';
import { webhookFailures } from '../../warnings/rules/webhook-delivery.ts';
import type { Contract } from './contract.ts';
import { time } from './fields.ts';

const setWebhookBody = z
  .strictObject({
    url: z
      .string()
      .min(1)
      .max(2048)
      .meta({
        description:
          'https on port 443, with a domain name whose addresses are all public. Its path and query are sent as they are.',
        examples: ['https://hooks.acme.example/lfs-quota'],
      }),
    newSecret: z.boolean().optional().meta({
      default: false,
      description: 'Replace the secret. The old one signs too for 24 hours. A new webhook always gets one.',
    }),
  })
  .meta({ id: 'SetWebhook' });

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

const webhookSchema = z
  .object({
    url: z.string(),
    createdAt: time,
    secretChangedAt: time,
    last: lastSchema
      .nullable()
      .meta({ description: 'The last attempt. null: there was none to this address.' }),
  })
  .meta({ id: 'Webhook' });

const setWebhookSchema = webhookSchema
  .extend({
    secret: z
      .string()
      .nullable()
      .meta({ description: 'The new secret, `whsec_…`. It is answered this once. null: it is as it was.' }),
  })
  .meta({ id: 'WebhookWithSecret' });

const webhookTestSchema = z.object({ tenant: z.string(), eventId: z.string() }).meta({ id: 'WebhookTest' });

export type WebhookBody = z.output<typeof webhookSchema>;

const webhook = {
  url: 'https://hooks.acme.example/lfs-quota',
  createdAt: '2026-11-21T05:00:00Z',
  secretChangedAt: '2026-11-21T05:00:00Z',
  last: {
    eventId: 'acme:7',
    type: 'storage.level',
    at: '2026-11-21T06:00:00Z',
    attempt: 1,
    outcome: 'delivered',
    status: 204,
    failure: null,
    nextAt: null,
  },
};

/** Where a tenant's warnings go. */
export const webhookContract = {
  'PUT /v1/tenants/{tenant}/webhook': {
    id: 'setWebhook',
    summary: 'Set where warnings are sent',
    description:
      'One for each tenant. Requests are signed as [Standard Webhooks](https://www.standardwebhooks.com) are. The secret of a ' +
      'new one, or with `newSecret` a new secret, is answered this once.',
    access: 'manager',
    onlyOpen: true,
    action: 'webhook.set',
    body: { schema: setWebhookBody, example: { url: 'https://hooks.acme.example/lfs-quota' } },
    answers: {
      200: {
        description: 'It is changed.',
        schema: setWebhookSchema,
        example: { ...webhook, secret: null },
      },
      201: {
        description: 'It is new.',
        schema: setWebhookSchema,
        example: { ...webhook, last: null, secret: 'whsec_…' },
      },
    },
  },
  'GET /v1/tenants/{tenant}/webhook': {
    id: 'getWebhook',
    summary: 'Where warnings are sent, and what became of the last one',
    access: 'manager',
    answers: { 200: { description: 'Without its secret.', schema: webhookSchema, example: webhook } },
    problems: ['webhook-not-found'],
  },
  'DELETE /v1/tenants/{tenant}/webhook': {
    id: 'deleteWebhook',
    summary: 'Send no more warnings',
    access: 'manager',
    action: 'webhook.delete',
    answers: { 204: { description: 'It is removed, and what was still to be sent to it is not.' } },
    problems: ['webhook-not-found'],
  },
  'POST /v1/tenants/{tenant}/webhook/test': {
    id: 'testWebhook',
    summary: 'Send a test event, once',
    description: 'What became of it is said by `GET …/webhook` some seconds later.',
    access: 'manager',
    onlyOpen: true,
    action: 'webhook.test',
    answers: {
      202: {
        description: 'It will be sent.',
        schema: webhookTestSchema,
        example: { tenant: 'acme', eventId: 'acme:test-0aB1cD2eF3gH' },
      },
    },
    problems: ['webhook-not-found', 'test-too-soon'],
  },
} as const satisfies Contract;
