export const alertQueues = { webhookQueue: 'Webhook', emailQueue: 'Email' } as const;
