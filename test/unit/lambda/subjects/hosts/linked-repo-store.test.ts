import { expect, it } from 'vitest';
import { createDynamoDbLinkedRepos } from '../../../../../lambda/subjects/hosts/linked-repo-store.ts';
import { FakeTable } from '../../../../support/fake-table.ts';

it('linked repos are read consistently, all at once', async () => {
  const client = new FakeTable();
  client.on('Query').resolves({});
  expect(await createDynamoDbLinkedRepos({ client, tableName: 'ledger' }).list('acme')).toEqual([]);
  expect(client.asked()).toMatchObject([{ TableName: 'ledger', ConsistentRead: true }]);
  expect(client.asked()[0]?.['Limit']).toBe(undefined);
});
