import type { Webhook, WebhookAttempt } from '../../../lambda/domain/webhook.ts';
import type { WebhookMessage, WebhookQueue, Webhooks } from '../../../lambda/ports/webhooks.ts';

/** Webhooks in memory, for tests. */
export class MemoryWebhooks implements Webhooks {
  readonly #tenants = new Map<string, Webhook>();
  readonly #lastAtMs = new Map<string, number>();
  readonly #testedAtMs = new Map<string, number>();

  async read(tenant: string) {
    return this.#tenants.get(tenant);
  }

  async put({ tenant, webhook }: { tenant: string; webhook: Webhook }) {
    this.#tenants.set(tenant, webhook);
  }

  async remove(tenant: string) {
    this.#lastAtMs.delete(tenant);
    return this.#tenants.delete(tenant) ? ('removed' as const) : ('absent' as const);
  }

  async noteTest({ tenant, atMs, restMs }: { tenant: string; atMs: number; restMs: number }) {
    if (!this.#tenants.has(tenant)) return 'absent' as const;
    if ((this.#testedAtMs.get(tenant) ?? Number.NEGATIVE_INFINITY) > atMs - restMs)
      return 'too-soon' as const;
    this.#testedAtMs.set(tenant, atMs);
    return 'noted' as const;
  }

  async noteAttempt({ tenant, url, attempt }: { tenant: string; url: string; attempt: WebhookAttempt }) {
    const known = this.#tenants.get(tenant);
    if (known?.url !== url || (this.#lastAtMs.get(tenant) ?? 0) > attempt.atMs) return;
    this.#lastAtMs.set(tenant, attempt.atMs);
    this.#tenants.set(tenant, { ...known, last: attempt });
  }
}

/** A queue that delivers nothing, and the messages that it got. */
export function recordingWebhookQueue(): { queue: WebhookQueue; messages: WebhookMessage[] } {
  const messages: WebhookMessage[] = [];
  return { queue: { send: async (sent) => void messages.push(...sent) }, messages };
}
