import * as z from 'zod';
import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { isTenantName } from '../../core/rules/names.ts';
import { fromStored } from '../../core/table/stored-names.ts';
import type { AlertPorts } from './ports.ts';
import {
  nextDelayMs,
  secretCharacters,
  secretsOf,
  sharedHook,
  usageEvent,
  usageHook,
  type Webhook,
  type WebhookAttempt,
  type WebhookMessage,
  webhookHeaders,
  webhookSecret,
} from './rules/webhook-delivery.ts';

/**
 * Sets where a tenant's alerts go. A new one gets a secret; that of an old one changes only if it is asked for, and the
 * old secret then signs too for a day.
 *
 * @returns `secret` if there is a new one: it is answered this once.
 * @throws {LedgerUnavailableError}
 */
export async function setWebhook(
  { webhooks, ids, clock }: Pick<CoreDeps, 'ids' | 'clock'> & Pick<AlertPorts, 'webhooks'>,
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
  {
    webhooks,
    webhookQueue,
    ids,
    clock,
  }: Pick<CoreDeps, 'ids' | 'clock'> & Pick<AlertPorts, 'webhooks' | 'webhookQueue'>,
  tenant: string,
): Promise<{ readonly kind: 'queued'; readonly eventId: string } | { readonly kind: 'too-soon' | 'absent' }> {
  const atMs = clock.nowMs();
  const noted = await webhooks.noteTest({ tenant, atMs, restMs: testRestMs });
  if (noted !== 'noted') return { kind: noted };
  const id = `${tenant}:test-${ids.random(12)}`;
  const timestamp = new Date(atMs).toISOString();
  const data = { tenant: tenant === sharedHook ? null : tenant };
  await webhookQueue.send([{ tenant, event: { id, type: 'webhook.test', timestamp, data } }]);
  return { kind: 'queued', eventId: id };
}

/**
 * Sends an event to the tenant's webhook, as it is now, or to that of all without one, and notes what became of it.
 *
 * @param input.attempt the first one is 1.
 * @returns done: it's delivered, given up, or there is no webhook.
 * @throws {LedgerUnavailableError} It may have been sent.
 */
export async function deliverToWebhook(
  deps: Pick<CoreDeps, 'clock' | 'log'> & Pick<AlertPorts, 'webhooks' | 'webhookSender'>,
  input: { message: WebhookMessage; attempt: number },
): Promise<'done' | { readonly againMs: number }> {
  const { webhooks, webhookSender, clock, log } = deps;
  const { message, attempt } = input;
  const { tenant, event } = message;
  const { id, type, timestamp, data } = event;
  const own = await webhooks.read(tenant);
  const whose = own || !isTenantName(tenant) || type === 'webhook.test' ? tenant : sharedHook;
  const webhook = own ?? (whose === tenant ? undefined : await webhooks.read(whose));
  if (!webhook) return 'done';
  const { url } = webhook;
  const atMs = clock.nowMs();
  const body = JSON.stringify({ type, timestamp, data });
  const headers = webhookHeaders({
    secrets: secretsOf(webhook, atMs),
    id,
    timestampSeconds: Math.floor(atMs / 1000),
    body,
  });
  const answer = await webhookSender.post({ url, headers, body });
  const status = answer.kind === 'answered' ? answer.status : null;
  const isDelivered = status !== null && status >= 200 && status < 300;
  const delayMs = isDelivered ? undefined : nextDelayMs({ attempt, status, isTest: type === 'webhook.test' });
  const failure = answer.kind === 'failed' ? answer.failure : isDelivered ? null : 'status';
  const nextAtMs = delayMs === undefined ? null : clock.nowMs() + delayMs;
  const made: WebhookAttempt = { eventId: id, type, atMs, attempt, status, failure, nextAtMs };
  const fields = { tenant, eventId: id, type, attempt, status };
  if (isDelivered) log.info('webhook delivered', fields);
  else log.warn('webhook not delivered', { ...fields, failure, givenUp: delayMs === undefined });
  try {
    await webhooks.noteAttempt({ tenant: whose, url, attempt: made });
  } catch (error) {
    // It was sent: a table that does not answer is no reason to send it once more.
    log.warn('webhook attempt not noted', { tenant, eventId: id, error });
  }
  return delayMs === undefined ? 'done' : { againMs: delayMs };
}

/** The usage of an hour, as the queue holds it. */
export const usageMessage = z.object({ tenant: z.literal(usageHook), event: usageEvent });

/** Types of events that an older version may have queued. */
const olderTypes: Readonly<Record<string, string>> = {
  'storage.level': 'storage.threshold',
  'storage.full': 'storage.limit_reached',
};

/** An alert of a tenant, as queues hold it: that of webhooks has nothing else. */
export const alertMessage = z.object({
  tenant: z.string().refine((name) => name === sharedHook || isTenantName(name)),
  event: z.object({
    id: z.string().regex(/^[0-9A-Za-z:-]{1,100}$/),
    type: z
      .string()
      .transform((type) => olderTypes[type] ?? type)
      .pipe(z.enum(['storage.threshold', 'storage.limit_reached', 'webhook.test'])),
    timestamp: z.iso.datetime(),
    data: z
      .record(z.string(), z.unknown())
      .transform(fromStored)
      .pipe(z.record(z.string(), z.union([z.string(), z.number(), z.null()]))),
  }),
});
