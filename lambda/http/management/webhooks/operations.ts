import type * as z from 'zod';
import { noQuery } from '../../../api/contract/fields.ts';
import { json, noContent, type Response } from '../../../api/http.ts';
import { managerAccess } from '../../../api/management/access.ts';
import { problem } from '../../../api/problems.ts';
import { webhookUrlRule } from '../../../domain/webhook.ts';
import {
  setWebhook as setWebhookUseCase,
  testRestMs,
  testWebhook as testUseCase,
} from '../../../use-cases/warnings/set-webhook.ts';
import { change, jsonBody, noBody, type Operations, openManagerAccess, operation } from '../operation.ts';
import { webhookBody } from './bodies.ts';
import { setWebhookBody } from './requests.ts';

/** The one answer that holds a secret. */
const setWebhook = change(
  {
    action: 'webhook.set',
    access: openManagerAccess,
    query: noQuery,
    body: jsonBody(setWebhookBody),
    // The rest of an address often is a secret of its receiver.
    askedOf: ({ body }: { body: z.output<typeof setWebhookBody> }) => ({
      host: hostOf(body.url),
      newSecret: body.newSecret ?? false,
    }),
  },
  async (deps, { tenant: { tenant }, body: { url, newSecret = false }, trail }) => {
    if (!deps.webhookUrls(url)) return problem('invalid-body', `url: ${webhookUrlRule}.`);
    const before = await deps.webhooks.read(tenant);
    const { webhook, secret, isNew } = await setWebhookUseCase(deps, { tenant, url, isNewSecret: newSecret });
    trail.was({ host: before ? hostOf(before.url) : null });
    trail.became({ host: hostOf(webhook.url) });
    return json(isNew ? 201 : 200, { ...webhookBody(webhook), secret: secret ?? null });
  },
);

const showWebhook = operation(
  { access: managerAccess, query: noQuery, body: noBody },
  async (deps, { tenant: { tenant } }) => {
    const webhook = await deps.webhooks.read(tenant);
    return webhook ? json(200, webhookBody(webhook)) : webhookNotFound(tenant);
  },
);

const deleteWebhook = change(
  { action: 'webhook.delete', access: managerAccess, query: noQuery, body: noBody },
  async (deps, { tenant: { tenant } }) =>
    (await deps.webhooks.remove(tenant)) === 'removed' ? noContent() : webhookNotFound(tenant),
);

const testWebhook = change(
  { action: 'webhook.test', access: openManagerAccess, query: noQuery, body: noBody },
  async (deps, { tenant: { tenant } }) => {
    const outcome = await testUseCase(deps, tenant);
    switch (outcome.kind) {
      case 'queued':
        return json(202, { tenant, eventId: outcome.eventId });
      case 'too-soon': {
        const seconds = testRestMs / 1000;
        const detail = `A test was sent within the last ${seconds} seconds.`;
        return problem('test-too-soon', detail, { 'retry-after': String(seconds) });
      }
      case 'absent':
        return webhookNotFound(tenant);
    }
  },
);

function hostOf(url: string): string | null {
  return URL.canParse(url) ? new URL(url).host : null;
}

function webhookNotFound(tenant: string): Response {
  return problem('webhook-not-found', `The tenant ${tenant} has no webhook.`);
}

export const webhookOperations = {
  'PUT /v1/tenants/{tenant}/webhook': setWebhook,
  'GET /v1/tenants/{tenant}/webhook': showWebhook,
  'DELETE /v1/tenants/{tenant}/webhook': deleteWebhook,
  'POST /v1/tenants/{tenant}/webhook/test': testWebhook,
} satisfies Operations;
