import * as z from 'zod';
import { answer, type Contract, managed } from '../../frame/contract/contract.ts';
import { stringOrNull, time, timeOrNull } from '../../frame/contract/fields.ts';
import { webhookFailures } from './rules/webhook-delivery.ts';

const setWebhookBody = z
  .strictObject({
    url: z
      .string()
      .min(1)
      .max(2048)
      .meta({
        description:
          'https on port 443, with a domain name that has only public addresses. Path and query are sent unchanged.',
        examples: ['https://hooks.acme.example/lfs-quota'],
      }),
    newSecret: z.boolean().optional().meta({
      default: false,
      description: 'Create a new secret. The old one also signs for 24 hours. A new webhook always gets one.',
    }),
  })
  .meta({ id: 'SetWebhook' });

const lastSchema = z
  .object({
    eventId: z.string().meta({ examples: ['acme:7'] }),
    type: z.string().meta({ examples: ['storage.threshold'] }),
    at: time,
    attempt: z.int().min(1).describe('1 to 8.'),
    outcome: z
      .enum(['delivered', 'failed', 'given-up'])
      .describe("failed: it's retried at nextAt. given-up: no more retries."),
    status: z.int().nullable().describe("The receiver's status. null: no response."),
    failure: z.enum(webhookFailures).nullable(),
    nextAt: timeOrNull,
  })
  .meta({ id: 'WebhookAttempt' });

const webhookSchema = z
  .object({
    url: z.string(),
    createdAt: time,
    secretChangedAt: time,
    last: lastSchema.nullable().describe('The last attempt. null: none to this URL yet.'),
  })
  .meta({ id: 'Webhook' });

const setWebhookSchema = webhookSchema
  .extend({
    secret: stringOrNull.describe('The new secret, `whsec_…`, returned once. null: unchanged.'),
  })
  .meta({ id: 'WebhookWithSecret' });

const sharedTestSchema = z.object({ eventId: z.string() }).meta({ id: 'SharedWebhookTest' });
const webhookTestSchema = z.object({ tenant: z.string(), eventId: z.string() }).meta({ id: 'WebhookTest' });

export type WebhookBody = z.output<typeof webhookSchema>;

const webhook = {
  url: 'https://hooks.acme.example/lfs-quota',
  createdAt: '2026-11-21T05:00:00Z',
  secretChangedAt: '2026-11-21T05:00:00Z',
  last: {
    eventId: 'acme:7',
    type: 'storage.threshold',
    at: '2026-11-21T06:00:00Z',
    attempt: 1,
    outcome: 'delivered',
    status: 204,
    failure: null,
    nextAt: null,
  },
};

const signed =
  'Requests are signed like [Standard Webhooks](https://www.standardwebhooks.com). The secret of a new webhook, or with `newSecret` a new secret, is returned once.';

const setting = {
  body: { schema: setWebhookBody, example: { url: 'https://hooks.acme.example/lfs-quota' } },
  answers: {
    200: answer('It was changed.', setWebhookSchema, { ...webhook, secret: null }),
    201: answer('It is new.', setWebhookSchema, { ...webhook, last: null, secret: 'whsec_…' }),
  },
} as const;

const showing = {
  answers: { 200: answer('Without its secret.', webhookSchema, webhook) },
  problems: ['webhook-not-found'],
} as const;

const removing = {
  answers: { 204: { description: "It's removed, with all pending deliveries." } },
  problems: ['webhook-not-found'],
} as const;

const testing = {
  summary: 'Send a test event, once',
  description: '`GET …/webhook` shows the result after some seconds.',
  problems: ['webhook-not-found', 'test-too-soon'],
} as const;

/** Where a tenant's alerts go, those of all others, and the usage of all tenants. */
export const webhookContract = {
  'PUT /v1/tenants/{tenant}/webhook': {
    id: 'setWebhook',
    summary: 'Set the webhook',
    description: `One per tenant. ${signed}`,
    ...managed('webhook.set'),
    ...setting,
  },
  'GET /v1/tenants/{tenant}/webhook': {
    id: 'getWebhook',
    summary: 'The webhook, and its last delivery',
    access: 'manager',
    ...showing,
  },
  'PUT /v1/webhook': {
    id: 'setSharedWebhook',
    summary: 'Set one webhook for all tenants',
    description: `It gets the alerts of each tenant that has no webhook of its own. \`data.tenant\` has its name. ${signed}`,
    access: 'admin',
    action: 'shared-webhook.set',
    ...setting,
  },
  'GET /v1/webhook': {
    id: 'getSharedWebhook',
    summary: 'The webhook for all tenants, and its last delivery',
    access: 'admin',
    ...showing,
  },
  'DELETE /v1/webhook': {
    id: 'deleteSharedWebhook',
    summary: 'Delete the webhook for all tenants',
    access: 'admin',
    action: 'shared-webhook.delete',
    ...removing,
  },
  'POST /v1/webhook/test': {
    id: 'testSharedWebhook',
    ...testing,
    access: 'admin',
    action: 'shared-webhook.test',
    answers: { 202: answer('It will be sent.', sharedTestSchema, { eventId: 'ALL:test-0aB1cD2eF3gH' }) },
  },
  'PUT /v1/usage/webhook': {
    id: 'setUsageWebhook',
    summary: 'Set the webhook for usage',
    description: `It gets \`usage.hour\` with the records of each hour that becomes final from now on, up to 1,000 in a request. ${signed}`,
    access: 'admin',
    action: 'usage-webhook.set',
    ...setting,
  },
  'GET /v1/usage/webhook': {
    id: 'getUsageWebhook',
    summary: 'The webhook for usage, and its last delivery',
    access: 'admin',
    ...showing,
  },
  'DELETE /v1/usage/webhook': {
    id: 'deleteUsageWebhook',
    summary: 'Delete the webhook for usage',
    access: 'admin',
    action: 'usage-webhook.delete',
    ...removing,
  },
  'DELETE /v1/tenants/{tenant}/webhook': {
    id: 'deleteWebhook',
    summary: 'Delete the webhook',
    access: 'manager',
    action: 'webhook.delete',
    ...removing,
  },
  'POST /v1/tenants/{tenant}/webhook/test': {
    id: 'testWebhook',
    ...testing,
    ...managed('webhook.test'),
    answers: {
      202: answer('It will be sent.', webhookTestSchema, {
        tenant: 'acme',
        eventId: 'acme:test-0aB1cD2eF3gH',
      }),
    },
  },
} as const satisfies Contract;
