import type { Table } from '../../core/table/requests.ts';
import { usageHook } from './rules/webhook-delivery.ts';
import { createDynamoDbWebhooks } from './webhook-store.ts';

export { createDynamoDbAlerts as alerts } from './alert-store.ts';
export { createDynamoDbEmails as emails } from './email-store.ts';
export { createDynamoDbWebhooks as webhooks } from './webhook-store.ts';

/** Whether the operator has a webhook for the usage of all tenants. */
export const usageHookIsSet = (table: Table) => async () =>
  (await createDynamoDbWebhooks(table).read(usageHook)) !== undefined;
