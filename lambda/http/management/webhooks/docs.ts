import type { OperationDocs } from '../../operation-docs.ts';
import { setWebhookBody } from './requests.ts';
import { setWebhookSchema, webhookSchema, webhookTestSchema } from './schemas.ts';

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
export const webhookDocs = {
  'PUT /v1/tenants/{tenant}/webhook': {
    id: 'setWebhook',
    summary: 'Set where warnings are sent',
    description:
      'One for each tenant. Requests are signed as [Standard Webhooks](https://www.standardwebhooks.com) are. The secret of a ' +
      'new one, or with `newSecret` a new secret, is answered this once.',
    access: 'manager',
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
    problems: ['tenant-not-found', 'tenant-closed'],
  },
  'GET /v1/tenants/{tenant}/webhook': {
    id: 'getWebhook',
    summary: 'Where warnings are sent, and what became of the last one',
    access: 'manager',
    answers: { 200: { description: 'Without its secret.', schema: webhookSchema, example: webhook } },
    problems: ['tenant-not-found', 'webhook-not-found'],
  },
  'DELETE /v1/tenants/{tenant}/webhook': {
    id: 'deleteWebhook',
    summary: 'Send no more warnings',
    access: 'manager',
    action: 'webhook.delete',
    answers: { 204: { description: 'It is removed, and what was still to be sent to it is not.' } },
    problems: ['tenant-not-found', 'webhook-not-found'],
  },
  'POST /v1/tenants/{tenant}/webhook/test': {
    id: 'testWebhook',
    summary: 'Send a test event, once',
    description: 'What became of it is said by `GET …/webhook` some seconds later.',
    access: 'manager',
    action: 'webhook.test',
    answers: {
      202: {
        description: 'It will be sent.',
        schema: webhookTestSchema,
        example: { tenant: 'acme', eventId: 'acme:test-0aB1cD2eF3gH' },
      },
    },
    problems: ['tenant-not-found', 'tenant-closed', 'webhook-not-found', 'test-too-soon'],
  },
} satisfies OperationDocs;
