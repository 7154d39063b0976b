export { createDynamoDbAlerts as alerts } from './alert-store.ts';
export { createDynamoDbEmails as emails } from './email-store.ts';
export { createDynamoDbWebhooks as webhooks } from './webhook-store.ts';
