import { expect } from 'vitest';
import { emailWork } from '../../../../lambda/subjects/alerts/emails.ts';
import { createDynamoDbWebhooks } from '../../../../lambda/subjects/alerts/webhook-store.ts';
import { alertMessage } from '../../../../lambda/subjects/alerts/webhooks.ts';
import { type TestedSubject, tenant } from '../../subject.ts';
import { blocks } from './blocks.ts';

export const alerts = {
  blocks,
  messages: { webhooks: alertMessage, emails: emailWork },
  fill: {
    alerts: ({ alerts }, atMs) =>
      alerts.raiseFull({
        tenant,
        day: '2027-01-15',
        alert: { kind: 'limit_reached', atMs, storedBytes: 1, limitBytes: 1 },
      }),
    emails: ({ emails }, atMs) =>
      emails.change({
        tenant,
        change: (before) => ({
          ...before,
          addresses: [
            { address: 'a@b.example', key: 'k', addedAtMs: atMs, confirmedAtMs: atMs, ended: null, sent: [] },
          ],
        }),
      }),
    webhooks: ({ webhooks }, atMs) =>
      webhooks.put({
        tenant,
        webhook: {
          url: 'https://hooks.example/a',
          secret: 's',
          previousSecret: null,
          last: null,
          createdAtMs: atMs,
          secretChangedAtMs: atMs,
        },
      }),
  },
  kept: [
    {
      what: 'that a webhook was tested, once it may be tested again',
      by: ['lambda/subjects/alerts/webhook-store.ts noteTest'],
      async write({ table, client, tenant, atMs, second }) {
        client.on('GetItem').resolves({ Item: { pk: 'WEBHOOK#acme', sk: 'WEBHOOK' } });
        await createDynamoDbWebhooks(table).noteTest({ tenant, atMs, restMs: 30_000 });
        return [{ pk: 'WEBHOOK#acme', sk: 'TEST', end: second + 30 }];
      },
    },
  ],
  functions: {
    sendWebhook: {
      timeoutSeconds: 30,
      memoryMb: 256,
      variables: ['TABLE', 'WEBHOOK_QUEUE_URL'],
      writes: ['webhook-items'],
    },
    sendEmail: {
      timeoutSeconds: 60,
      memoryMb: 256,
      variables: ['TABLE', 'EMAIL_CONFIGURATION_SET', 'EMAIL_FROM', 'EMAIL_QUEUE_URL', 'PUBLIC_URL'],
      writes: ['email-items'],
    },
  },
  variables: {
    management: ['WEBHOOK_QUEUE_URL', 'EMAIL_QUEUE_URL'],
    refresh: ['EVENT_BUS', 'WEBHOOK_QUEUE_URL', 'EMAIL_QUEUE_URL'],
  },
  older: {
    read: async ({ alerts, webhooks }) => {
      expect((await alerts.read('acme')).pending).toHaveLength(1);
      expect(await webhooks.read('acme')).toMatchObject({ url: 'https://hooks.acme.example/quota' });
    },
  },
  maps: {
    'lambda/subjects/alerts/webhooks.ts: ': 'fields of our own events',
  },
} satisfies TestedSubject;
