import type { Deps } from '../../deps.ts';
import { secretCharacters, type Webhook, webhookSecret } from '../../domain/webhook.ts';

/**
 * Sets where a tenant's warnings go. A new one gets a secret; that of an old one changes only if it is asked for, and the
 * old secret then signs too for a day.
 *
 * @returns `secret` if there is a new one: it is answered this once.
 * @throws {LedgerUnavailableError}
 */
export async function setWebhook(
  { webhooks, ids, clock }: Pick<Deps, 'webhooks' | 'ids' | 'clock'>,
  { tenant, url, isNewSecret }: { tenant: string; url: string; isNewSecret: boolean },
): Promise<{ webhook: Webhook; secret: string | undefined; isNew: boolean }> {
  const nowMs = clock.nowMs();
  const known = await webhooks.read(tenant);
  const last = known?.url === url ? known.last : null;
  if (known && !isNewSecret) {
    const webhook: Webhook = { ...known, url, last };
    await webhooks.put({ tenant, webhook });
    return { webhook, secret: undefined, isNew: false };
  }
  const secret = webhookSecret(ids.random(secretCharacters));
  const webhook: Webhook = {
    url,
    secret,
    previousSecret: known?.secret ?? null,
    createdAtMs: known?.createdAtMs ?? nowMs,
    secretChangedAtMs: nowMs,
    last,
  };
  await webhooks.put({ tenant, webhook });
  return { webhook, secret, isNew: known === undefined };
}

/** Between two test events of a tenant. Nobody is to use them to flood a receiver. */
export const testRestMs = 10_000;

/**
 * Has a test event sent, once.
 *
 * @throws {LedgerUnavailableError} or the error of the queue.
 */
export async function testWebhook(
  { webhooks, webhookQueue, ids, clock }: Pick<Deps, 'webhooks' | 'webhookQueue' | 'ids' | 'clock'>,
  tenant: string,
): Promise<{ readonly kind: 'queued'; readonly eventId: string } | { readonly kind: 'too-soon' | 'absent' }> {
  const atMs = clock.nowMs();
  const noted = await webhooks.noteTest({ tenant, atMs, restMs: testRestMs });
  if (noted !== 'noted') return { kind: noted };
  const id = `${tenant}:test-${ids.random(12)}`;
  const timestamp = new Date(atMs).toISOString();
  await webhookQueue.send([{ tenant, event: { id, type: 'webhook.test', timestamp, data: { tenant } } }]);
  return { kind: 'queued', eventId: id };
}
