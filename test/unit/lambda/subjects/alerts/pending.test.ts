import { expect, it } from 'vitest';
import { createDynamoDbAlerts } from '../../../../../lambda/subjects/alerts/alert-store.ts';
import { FakeTable } from '../../../../support/fake-table.ts';

it('tenants with pending alerts are listed by kind, which no index reads consistently', async () => {
  const client = new FakeTable();
  client.on('Query').resolves({});
  await createDynamoDbAlerts({ client, tableName: 'ledger' }).listPending({ tenantsMax: 5 });
  const [asked] = client.asked();
  expect(asked).toMatchObject({
    IndexName: 'by-kind',
    ExpressionAttributeValues: { ':kind': 'ALERTS' },
    Limit: 5,
  });
  expect(asked).not.toHaveProperty('ConsistentRead');
});
