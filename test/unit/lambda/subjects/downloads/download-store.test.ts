import { expect, it } from 'vitest';
import { createDynamoDbDownloads } from '../../../../../lambda/subjects/downloads/download-store.ts';
import { FakeTable } from '../../../../support/fake-table.ts';

it('days are read consistently, no more than are shown, and none of a range that ends before it begins', async () => {
  const client = new FakeTable();
  client.on('Query').resolves({});
  const downloads = createDynamoDbDownloads({ client, tableName: 'ledger' });
  const days = (from: string, to: string) => downloads.days({ tenant: 'acme', from, to, pageSize: 5 });
  expect(await days('2026-01-03', '2026-01-02')).toEqual({ days: [], next: null });
  expect(client.asked()).toEqual([]);
  expect(await days('2026-01-01', '2026-01-02')).toEqual({ days: [], next: null });
  expect(client.asked()).toMatchObject([{ TableName: 'ledger', ConsistentRead: true, Limit: 6 }]);
});
