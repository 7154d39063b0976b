import type { Table } from '../../core/table/requests.ts';
import { createDynamoDbAlerts } from './alert-store.ts';
import { createDynamoDbEmails } from './email-store.ts';
import { createDynamoDbWebhooks } from './webhook-store.ts';

export const alertStores = (table: Table) => ({
  alerts: createDynamoDbAlerts(table),
  emails: createDynamoDbEmails(table),
  webhooks: createDynamoDbWebhooks(table),
});
