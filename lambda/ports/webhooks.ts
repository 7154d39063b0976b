import type { WarningEvent } from '../domain/warning.ts';
import type { WebhookFailure } from '../domain/webhook.ts';

/** What is to be sent to a tenant's webhook. */
export interface WebhookMessage {
  readonly tenant: string;
  readonly event: WarningEvent;
}

/** The queue of what is to be sent. It delivers each at least once, several at a time, in any order. */
export interface WebhookQueue {
  /** @throws when the queue did not accept some of them. It may have accepted others. */
  send(messages: readonly WebhookMessage[]): Promise<void>;
}

/** Sends a request to a receiver of whom nothing is known. */
export interface WebhookSender {
  /** Never throws. Nothing of the answer is read but its status. */
  post(input: {
    url: string;
    headers: Readonly<Record<string, string>>;
    body: string;
  }): Promise<
    | { readonly kind: 'answered'; readonly status: number }
    | { readonly kind: 'failed'; readonly failure: WebhookFailure }
  >;
}

/** Whether a URL can be a webhook, on this stack. */
export type WebhookUrls = (url: string) => boolean;
