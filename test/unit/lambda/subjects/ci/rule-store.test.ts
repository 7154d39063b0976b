import { expect, it } from 'vitest';
import { createDynamoDbExchangeRules } from '../../../../../lambda/subjects/ci/rule-store.ts';
import { FakeTable } from '../../../../support/fake-table.ts';

it('rules are listed consistently, by one request', async () => {
  const client = new FakeTable();
  client.on('Query').resolves({});
  expect(await createDynamoDbExchangeRules({ client, tableName: 'table' }).list('acme')).toEqual([]);
  expect(client.asked()).toMatchObject([{ ConsistentRead: true }]);
});
