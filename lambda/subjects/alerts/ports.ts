import type { Alerts } from './alert-store.ts';
import type { EmailStore } from './email-store.ts';
import type { EmailQueue, Outlook } from './rules/email.ts';
import type { WebhookQueue, WebhookSender } from './rules/webhook-delivery.ts';
import type { Webhooks } from './webhook-store.ts';

export interface AlertPorts {
  readonly alerts: Alerts;
  readonly webhooks: Webhooks;
  readonly webhookQueue: WebhookQueue;
  readonly webhookSender: WebhookSender;
  readonly emails: EmailStore;
  readonly emailQueue: EmailQueue;
  /** Absent: nobody knows of past weeks, so no summary is sent. */
  readonly outlook?: Outlook;
}
