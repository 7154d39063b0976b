import type { SubjectSpec } from '../../frame/frame-spec.ts';
import { counts, on, pushes } from '../../frame/spec.ts';

export const alerts = {
  functions: {
    sendWebhook: {
      file: 'alerts/send-webhook.ts',
      description:
        'Sends warnings to the addresses that tenants gave. It reaches the internet, and of the table its own items.',
      timeoutSeconds: 30,
      memoryMb: 256,
      items: [on(['WEBHOOK#*'], 'GetItem', 'UpdateItem')],
      queues: { webhooks: ['receive', 'delay'] },
    },
    sendEmail: {
      file: 'alerts/send-email.ts',
      description: 'E-mails alerts. It reaches SES, and of the table its own items.',
      timeoutSeconds: 60,
      memoryMb: 256,
      items: [on(['EMAIL#*'], 'GetItem', 'UpdateItem')],
      queues: { emails: ['receive', 'delay'] },
      sendsEmail: true,
    },
  },
  adds: {
    management: {
      routes: [
        'GET /v1/tenants/{tenant}/webhook',
        'PUT /v1/tenants/{tenant}/webhook',
        'DELETE /v1/tenants/{tenant}/webhook',
        'POST /v1/tenants/{tenant}/webhook/test',
        'GET /v1/webhook',
        'PUT /v1/webhook',
        'DELETE /v1/webhook',
        'POST /v1/webhook/test',
        'GET /v1/usage/webhook',
        'PUT /v1/usage/webhook',
        'DELETE /v1/usage/webhook',
        'GET /v1/tenants/{tenant}/emails',
        'POST /v1/tenants/{tenant}/emails',
        'DELETE /v1/tenants/{tenant}/emails',
        'POST /v1/emails/confirm',
        'POST /v1/emails/unsubscribe',
      ],
      queues: { webhooks: ['send', 'gauge'], emails: ['send', 'gauge'] },
    },
    refresh: {
      items: [on(['ALERT#*', 'EMAIL#*'], 'UpdateItem')],
      queues: { webhooks: ['send'], emails: ['send'] },
      publishesEvents: true,
    },
    admits: { items: [pushes('ALERT#*')] },
    getSubscription: { items: [counts('ALERT#*')] },
  },
  queues: {
    webhooks: {
      kind: 'Webhook',
      isSent: true,
      lost: "An alert couldn't be sent to a webhook: the function sendWebhook failed too often.",
    },
    emails: {
      kind: 'Email',
      onlyWith: 'email',
      isSent: true,
      lost: "An alert couldn't be e-mailed: the function sendEmail failed too often.",
    },
  },
} as const satisfies SubjectSpec;
