import type { WarningEvent } from '../domain/warning.ts';
import type { Webhook, WebhookAttempt, WebhookFailure } from '../domain/webhook.ts';

/** One webhook for each tenant. */
export interface Webhooks {
  /** Strongly consistent. @throws {LedgerUnavailableError} */
  read(tenant: string): Promise<Webhook | undefined>;
  /** Replaces what there is. @throws {LedgerUnavailableError} */
  put(input: { tenant: string; webhook: Webhook }): Promise<void>;
  /** @throws {LedgerUnavailableError} */
  remove(tenant: string): Promise<'removed' | 'absent'>;
  /** Notes that a test is asked for, unless one was within `restMs`. @throws {LedgerUnavailableError} */
  noteTest(input: { tenant: string; atMs: number; restMs: number }): Promise<'noted' | 'too-soon' | 'absent'>;
  /**
   * Notes the last attempt, if the webhook is still the one of this URL and no later attempt was noted.
   *
   * @throws {LedgerUnavailableError}
   */
  noteAttempt(input: { tenant: string; url: string; attempt: WebhookAttempt }): Promise<void>;
}

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
