import { createDynamoDbWebhooks } from '../../../../lambda/subjects/alerts/webhook-store.ts';
import { type TestedSubject, tenant } from '../../subject.ts';

export const alerts = {
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
} satisfies TestedSubject;
