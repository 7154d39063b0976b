import { create as sendEmail } from '../../lambda/subjects/alerts/email-handler.ts';
import { create as sendWebhook } from '../../lambda/subjects/alerts/webhook-handler.ts';
import { queuePartitions } from '../background/kept.ts';
import { type SubjectQueue, sentOn } from '../background/subject-queue.ts';

export const webhooks = {
  ...sentOn,
  port: 'webhookQueue',
  partition: queuePartitions.webhooks,
  create: sendWebhook,
} as const satisfies SubjectQueue;

export const emails = {
  ...sentOn,
  port: 'emailQueue',
  partition: queuePartitions.emails,
  create: sendEmail,
} as const satisfies SubjectQueue;
