import { describe, expect, it } from 'vitest';
import type { Webhook, WebhookAttempt } from '../../../../lambda/subjects/alerts/rules/webhook-delivery.ts';
import { createDynamoDbWebhooks } from '../../../../lambda/subjects/alerts/webhook-store.ts';
import { onceOpen } from '../../../support/once-open.ts';
import { type OpenTable, tenantName } from '../../ledger-context.ts';

export function webhooksContract(table: OpenTable): void {
  describe('webhooks', () => {
    const webhooks = onceOpen(async () => createDynamoDbWebhooks(await table()));
    const webhook: Webhook = {
      url: 'https://hooks.example.com/a',
      secret: 'whsec_a',
      previousSecret: null,
      createdAtMs: 1000,
      secretChangedAtMs: 1000,
      last: null,
    };
    const attempt = (atMs: number, more: Partial<WebhookAttempt> = {}): WebhookAttempt => ({
      eventId: 'acme:1',
      type: 'storage.threshold',
      atMs,
      attempt: 1,
      status: 500,
      failure: 'status',
      nextAtMs: atMs + 5000,
      ...more,
    });
    const lastOf = async (tenant: string) => (await webhooks.read(tenant))?.last;

    it('are one for each tenant, replaced and removed', async () => {
      const tenant = tenantName();
      expect(await webhooks.read(tenant)).toBeUndefined();
      expect(await webhooks.remove(tenant)).toBe('absent');
      await webhooks.put({ tenant, webhook });
      expect(await webhooks.read(tenant)).toEqual(webhook);
      expect(await webhooks.read(tenantName())).toBeUndefined();
      const changed = {
        ...webhook,
        url: 'https://b.example.com/',
        previousSecret: 'whsec_a',
        secret: 'whsec_b',
      };
      await webhooks.put({ tenant, webhook: changed });
      expect(await webhooks.read(tenant)).toEqual(changed);
      expect(await webhooks.remove(tenant)).toBe('removed');
      expect(await webhooks.read(tenant)).toBeUndefined();
    });

    it('have the last attempt, whichever is noted last', async () => {
      const tenant = tenantName();
      await webhooks.put({ tenant, webhook });
      const note = (made: WebhookAttempt, url = webhook.url) =>
        webhooks.noteAttempt({ tenant, url, attempt: made });
      await note(attempt(2000));
      await note(attempt(1500));
      expect(await lastOf(tenant)).toEqual(attempt(2000));
      const delivered = attempt(3000, { status: 204, failure: null, nextAtMs: null });
      await note(delivered);
      expect(await lastOf(tenant)).toEqual(delivered);
      await note(attempt(4000), 'https://other.example.com/');
      expect(await lastOf(tenant)).toEqual(delivered);
    });

    it('that are removed do not come back by what became of an attempt', async () => {
      const tenant = tenantName();
      await webhooks.put({ tenant, webhook });
      await webhooks.remove(tenant);
      await webhooks.noteAttempt({ tenant, url: webhook.url, attempt: attempt(2000) });
      expect(await webhooks.read(tenant)).toBeUndefined();
    });

    it('are tested once in a while', async () => {
      const tenant = tenantName();
      const test = (atMs: number) => webhooks.noteTest({ tenant, atMs, restMs: 100 });
      expect(await test(1000)).toBe('absent');
      expect(await webhooks.read(tenant)).toBeUndefined();
      await webhooks.put({ tenant, webhook });
      expect(await test(1000)).toBe('noted');
      expect(await test(1099)).toBe('too-soon');
      expect(await test(1100)).toBe('noted');
      const outcomes = await Promise.all([test(2000), test(2000), test(2000)]);
      expect(outcomes.filter((outcome) => outcome === 'noted')).toHaveLength(1);
      expect(await webhooks.read(tenant)).toEqual(webhook);
      await webhooks.remove(tenant);
      expect(await test(3000)).toBe('absent');
      await webhooks.put({ tenant, webhook });
      expect(await test(2050)).toBe('too-soon');
      expect(await test(2100)).toBe('noted');
    });
  });
}
