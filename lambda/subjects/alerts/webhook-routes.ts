import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import type { AuditTrail } from '../../frame/access/audit.ts';
import { json, noContent, type Refusal } from '../../frame/api/http.ts';
import { problem } from '../../frame/api/problems.ts';
import { iso } from '../../frame/contract/fields.ts';
import { operationsFor } from '../../frame/management/operations.ts';
import type { NetPorts } from '../../frame/net/ports.ts';
import type { AlertPorts } from './ports.ts';
import {
  isWebhookUrl,
  sharedHook,
  usageHook,
  type Webhook,
  type WebhookAttempt,
  webhookUrlRule,
} from './rules/webhook-delivery.ts';
import { type WebhookBody, webhookContract } from './webhook-contract.ts';
import { setWebhook, testRestMs, testWebhook } from './webhooks.ts';

type Needs = Pick<CoreDeps, 'ids'> &
  Pick<NetPorts, 'allowsLoopback'> &
  Pick<AlertPorts, 'webhooks' | 'webhookQueue'>;

type Whose = { readonly tenant: string; readonly trail: AuditTrail };

async function set(
  deps: Needs & Pick<CoreDeps, 'clock'>,
  {
    tenant,
    body: { url, newSecret = false },
    trail,
  }: Whose & { body: { url: string; newSecret?: boolean | undefined } },
) {
  if (!isWebhookUrl(url, deps)) return problem('invalid-body', `url: ${webhookUrlRule}.`);
  const before = await deps.webhooks.read(tenant);
  const { webhook, secret, isNew } = await setWebhook(deps, { tenant, url, isNewSecret: newSecret });
  trail.was({ host: before ? hostOf(before.url) : null });
  trail.became({ host: hostOf(webhook.url) });
  return json(isNew ? 201 : 200, { ...webhookBody(webhook), secret: secret ?? null });
}

async function show({ webhooks }: Pick<AlertPorts, 'webhooks'>, tenant: string) {
  const webhook = await webhooks.read(tenant);
  return webhook ? json(200, webhookBody(webhook)) : webhookNotFound(tenant);
}

async function remove({ webhooks }: Pick<AlertPorts, 'webhooks'>, { tenant, trail }: Whose) {
  const webhook = await webhooks.read(tenant);
  if (webhook) trail.was({ host: hostOf(webhook.url) });
  return (await webhooks.remove(tenant)) === 'removed' ? noContent() : webhookNotFound(tenant);
}

/** Has a test event sent. @param answer what tells its id. */
async function test<T>(
  deps: Parameters<typeof testWebhook>[0],
  tenant: string,
  answer: (eventId: string) => T,
) {
  const outcome = await testWebhook(deps, tenant);
  switch (outcome.kind) {
    case 'queued':
      return answer(outcome.eventId);
    case 'too-soon': {
      const seconds = testRestMs / 1000;
      const detail = `A test was sent within the last ${seconds} seconds. Wait before you send another.`;
      return problem('test-too-soon', detail, { 'retry-after': String(seconds) });
    }
    case 'absent':
      return webhookNotFound(tenant);
  }
}

// The rest of an address often is a secret of its receiver.
const askedOf = ({ url, newSecret = false }: { url: string; newSecret?: boolean | undefined }) => ({
  host: hostOf(url),
  newSecret,
});

export const webhookOperations = operationsFor<Needs>()(webhookContract, {
  /** The one answer that holds a secret, and those for the operator. */
  'PUT /v1/tenants/{tenant}/webhook': {
    askedOf,
    run: (deps, { tenant: { tenant }, body, trail }) => set(deps, { tenant, body, trail }),
  },
  'PUT /v1/usage/webhook': {
    askedOf,
    run: (deps, { body, trail }) => set(deps, { tenant: usageHook, body, trail }),
  },
  'PUT /v1/webhook': {
    askedOf,
    run: (deps, { body, trail }) => set(deps, { tenant: sharedHook, body, trail }),
  },
  'GET /v1/tenants/{tenant}/webhook': (deps, { tenant: { tenant } }) => show(deps, tenant),
  'GET /v1/usage/webhook': (deps) => show(deps, usageHook),
  'GET /v1/webhook': (deps) => show(deps, sharedHook),
  'DELETE /v1/tenants/{tenant}/webhook': (deps, { tenant: { tenant }, trail }) =>
    remove(deps, { tenant, trail }),
  'DELETE /v1/usage/webhook': (deps, { trail }) => remove(deps, { tenant: usageHook, trail }),
  'DELETE /v1/webhook': (deps, { trail }) => remove(deps, { tenant: sharedHook, trail }),

  'POST /v1/tenants/{tenant}/webhook/test': (deps, { tenant: { tenant } }) =>
    test(deps, tenant, (eventId) => json(202, { tenant, eventId })),
  'POST /v1/webhook/test': (deps) => test(deps, sharedHook, (eventId) => json(202, { eventId })),
});

function hostOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).host : null;
}

function webhookNotFound(tenant: string): Refusal {
  const whose = { [usageHook]: 'Usage', [sharedHook]: 'The server' }[tenant] ?? tenant;
  return problem('webhook-not-found', `${whose} has no webhook.`);
}

/** Without its secrets. */
function webhookBody({ url, createdAtMs, secretChangedAtMs, last }: Webhook): WebhookBody {
  return {
    url,
    createdAt: iso(createdAtMs),
    secretChangedAt: iso(secretChangedAtMs),
    last: last && lastBody(last),
  };
}

function lastBody(last: WebhookAttempt): NonNullable<WebhookBody['last']> {
  const { eventId, type, atMs, attempt, status, failure, nextAtMs } = last;
  const outcome = failure === null ? 'delivered' : nextAtMs === null ? 'given-up' : 'failed';
  const nextAt = nextAtMs === null ? null : iso(nextAtMs);
  return { eventId, type, at: iso(atMs), attempt, outcome, status, failure, nextAt };
}
