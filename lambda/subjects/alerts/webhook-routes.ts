import type { CoreDeps } from '../../core/ledger/core-deps.ts';
import { json, noContent, type Refusal } from '../../frame/api/http.ts';
import { problem } from '../../frame/api/problems.ts';
import { iso } from '../../frame/contract/fields.ts';
import { operationsFor } from '../../frame/management/operations.ts';
import type { NetPorts } from '../../frame/net/ports.ts';
import type { AlertPorts } from './ports.ts';
import { isWebhookUrl, type Webhook, type WebhookAttempt, webhookUrlRule } from './rules/webhook-delivery.ts';
import { type WebhookBody, webhookContract } from './webhook-contract.ts';
import { setWebhook, testRestMs, testWebhook } from './webhooks.ts';

type Needs = Pick<CoreDeps, 'ids'> &
  Pick<NetPorts, 'allowsLoopback'> &
  Pick<AlertPorts, 'webhooks' | 'webhookQueue'>;

export const webhookOperations = operationsFor<Needs>()(webhookContract, {
  /** The one answer that holds a secret. */
  'PUT /v1/tenants/{tenant}/webhook': {
    // The rest of an address often is a secret of its receiver.
    askedOf: ({ url, newSecret = false }) => ({ host: hostOf(url), newSecret }),
    run: async (deps, { tenant: { tenant }, body: { url, newSecret = false }, trail }) => {
      if (!isWebhookUrl(url, deps)) return problem('invalid-body', `url: ${webhookUrlRule}.`);
      const before = await deps.webhooks.read(tenant);
      const { webhook, secret, isNew } = await setWebhook(deps, { tenant, url, isNewSecret: newSecret });
      trail.was({ host: before ? hostOf(before.url) : null });
      trail.became({ host: hostOf(webhook.url) });
      return json(isNew ? 201 : 200, { ...webhookBody(webhook), secret: secret ?? null });
    },
  },

  'GET /v1/tenants/{tenant}/webhook': async (deps, { tenant: { tenant } }) => {
    const webhook = await deps.webhooks.read(tenant);
    return webhook ? json(200, webhookBody(webhook)) : webhookNotFound(tenant);
  },

  'DELETE /v1/tenants/{tenant}/webhook': async (deps, { tenant: { tenant }, trail }) => {
    const webhook = await deps.webhooks.read(tenant);
    if (webhook) trail.was({ host: hostOf(webhook.url) });
    return (await deps.webhooks.remove(tenant)) === 'removed' ? noContent() : webhookNotFound(tenant);
  },

  'POST /v1/tenants/{tenant}/webhook/test': async (deps, { tenant: { tenant } }) => {
    const outcome = await testWebhook(deps, tenant);
    switch (outcome.kind) {
      case 'queued':
        return json(202, { tenant, eventId: outcome.eventId });
      case 'too-soon': {
        const seconds = testRestMs / 1000;
        const detail = `A test was sent within the last ${seconds} seconds. Wait before you send another.`;
        return problem('test-too-soon', detail, { 'retry-after': String(seconds) });
      }
      case 'absent':
        return webhookNotFound(tenant);
    }
  },
});

function hostOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).host : null;
}

function webhookNotFound(tenant: string): Refusal {
  return problem('webhook-not-found', `${tenant} has no webhook.`);
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
