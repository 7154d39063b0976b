import * as z from 'zod';
import type { Deps } from '../deps.ts';
import type { TenantRecord } from '../ledger/rules/tenant.ts';
import { mapLimited } from '../rules/async.ts';
import { isTenantName } from '../rules/names.ts';
import { isCorrelationId } from '../rules/system.ts';
import { parseJson } from '../rules/text.ts';
import {
  levelAfter,
  nextDelayMs,
  secretCharacters,
  secretsOf,
  type WarningLevel,
  type Webhook,
  type WebhookAttempt,
  type WebhookMessage,
  warningEvent,
  webhookHeaders,
  webhookSecret,
} from './rules/warnings.ts';

type LevelDeps = Pick<Deps, 'warnings' | 'clock' | 'log'>;

/**
 * Raises a warning if a recount found the tenant on another level. It never fails: the next recount looks again.
 *
 * @param input.after the tenant as the recount committed it.
 * @param input.noted whether the recount is the newest, as far as is known.
 */
export async function noteLevel(
  deps: LevelDeps,
  input: { after: TenantRecord; epoch: number; noted: Promise<'noted' | 'older' | 'unknown'> },
): Promise<void> {
  const { after, epoch } = input;
  if (after.counted === null || after.closedAtMs !== null) return;
  try {
    const [{ level }, noted] = await Promise.all([deps.warnings.read(after.tenant), input.noted]);
    // What a newer one found was looked at by that one.
    if (noted !== 'older') await raiseIfCrossed(deps, { tenant: after, epoch, before: level });
  } catch (error) {
    deps.log.warn('level not noted', { tenant: after.tenant, error });
  }
}

/** The same after a change of the limit. A recount that still knows the old one raises nothing any more. */
export async function noteLimit(deps: LevelDeps, tenant: TenantRecord): Promise<void> {
  if (tenant.counted === null) return;
  const { epoch } = tenant;
  try {
    await deps.warnings.ignoreBefore({ tenant: tenant.tenant, epoch });
    const { level } = await deps.warnings.read(tenant.tenant);
    await raiseIfCrossed(deps, { tenant, epoch, before: level });
  } catch (error) {
    deps.log.warn('level not noted', { tenant: tenant.tenant, error });
  }
}

async function raiseIfCrossed(
  { warnings, clock }: LevelDeps,
  input: { tenant: TenantRecord; epoch: number; before: WarningLevel },
): Promise<void> {
  const { epoch, before } = input;
  const { tenant, limitBytes, counted } = input.tenant;
  const storedBytes = counted?.storedBytes ?? 0;
  const level = levelAfter({ before, storedBytes, limitBytes });
  if (level === before) return;
  const figures = { atMs: clock.nowMs(), storedBytes, limitBytes };
  // Whoever loses the race for this write leaves it to the other.
  await warnings.raiseLevel({
    tenant,
    epoch,
    warning: { kind: 'level', ...figures, level, previousLevel: before },
  });
}

/** Tenants of one run of the schedule. The others still have their warnings in the next. */
const tenantsMax = 100;
const tenantsAtOnce = 8;

type HandOverDeps = Pick<Deps, 'warnings' | 'eventBus' | 'webhookQueue' | 'log'>;

/**
 * Hands over the warnings that were raised. One that dies in between leaves them, and the next run hands them over once
 * more: receivers tell by the id.
 *
 * @returns how many warnings.
 */
export async function handOverWarnings(deps: HandOverDeps): Promise<number> {
  try {
    const tenants = await deps.warnings.listPending({ tenantsMax });
    const counts = await mapLimited(tenants, tenantsAtOnce, (tenant) => handOverOrLog(deps, tenant));
    return counts.reduce((sum, count) => sum + count, 0);
  } catch (error) {
    // What else the schedule does goes on.
    deps.log.warn('warnings not looked for', { error });
    return 0;
  }
}

/** What fails for one tenant keeps no other from its warnings. */
async function handOverOrLog(deps: HandOverDeps, tenant: string): Promise<number> {
  try {
    return await handOver(deps, tenant);
  } catch (error) {
    deps.log.warn('warnings not handed over', { tenant, error });
    return 0;
  }
}

async function handOver(deps: HandOverDeps, tenant: string): Promise<number> {
  const { warnings, eventBus, webhookQueue, log } = deps;
  const { pending } = await warnings.read(tenant);
  const last = pending.at(-1);
  // The index is behind: somebody else has handed them over.
  if (!last) return 0;
  const events = pending.map((each) => warningEvent(tenant, each));
  await eventBus.publish(events);
  // Whether the tenant has a webhook is looked at when it is sent.
  await webhookQueue.send(events.map((event) => ({ tenant, event })));
  await warnings.settle({ tenant, seq: last.seq });
  for (const { id, type, data } of events) log.info('warning', { ...data, id, type });
  return events.length;
}

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

type DeliveryOutcome =
  /** Delivered, given up, or the tenant has no webhook. */
  | { readonly kind: 'done' }
  /** It is to be sent again. */
  | { readonly kind: 'again'; readonly delayMs: number };

/**
 * Sends an event to the tenant's webhook, as it is now, and notes what became of it.
 *
 * @param input.attempt the first one is 1.
 * @throws {LedgerUnavailableError} It may have been sent.
 */
export async function deliverToWebhook(
  deps: Pick<Deps, 'webhooks' | 'webhookSender' | 'clock' | 'log'>,
  input: { message: WebhookMessage; attempt: number },
): Promise<DeliveryOutcome> {
  const { webhooks, webhookSender, clock, log } = deps;
  const { message, attempt } = input;
  const { tenant, event } = message;
  const { id, type, timestamp, data } = event;
  const webhook = await webhooks.read(tenant);
  if (!webhook) return { kind: 'done' };
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
    await webhooks.noteAttempt({ tenant, url, attempt: made });
  } catch (error) {
    // It was sent: a table that does not answer is no reason to send it once more.
    log.warn('webhook attempt not noted', { tenant, eventId: id, error });
  }
  return delayMs === undefined ? { kind: 'done' } : { kind: 'again', delayMs };
}

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
