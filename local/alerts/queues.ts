import type { NetPorts } from '../../lambda/frame/net/ports.ts';
import { create as sendEmail } from '../../lambda/subjects/alerts/email-handler.ts';
import { create as sendWebhook } from '../../lambda/subjects/alerts/webhook-handler.ts';
import { createWebhookSender } from '../../lambda/subjects/alerts/webhook-sender.ts';
import { queuePartitions } from '../background/kept.ts';
import { type SubjectQueue, sentOn } from '../background/subject-queue.ts';
import { optionsFor } from '../outgoing.ts';

type Needs = Parameters<typeof sendWebhook>[0];
type Sending = Omit<Needs, 'webhookSender'> & Partial<Needs> & Pick<NetPorts, 'allowsLoopback'>;

export const webhooks = {
  ...sentOn,
  port: 'webhookQueue',
  partition: queuePartitions.webhooks,
  create: ({ allowsLoopback, ...deps }: Sending) =>
    sendWebhook({
      webhookSender: {
        post: (input) => createWebhookSender(optionsFor(input.url, allowsLoopback)).post(input),
      },
      ...deps,
    }),
} as const satisfies SubjectQueue;

export const emails = {
  ...sentOn,
  port: 'emailQueue',
  partition: queuePartitions.emails,
  create: sendEmail,
} as const satisfies SubjectQueue;
