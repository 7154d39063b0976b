import { beforeEach, expect, it } from 'vitest';
import { createDynamoDbHistory } from '../../../../../lambda/subjects/history/history-store.ts';
import { FakeTable } from '../../../../support/fake-table.ts';

const client = new FakeTable();
const history = createDynamoDbHistory({ client, tableName: 'table' });
const tenant = 'acme';

beforeEach(() => {
  client.reset();
  client.on('Query').resolves({});
});

it('days that are forgotten are read consistently, no more than are removed', async () => {
  expect(await history.forgetSome({ tenant, itemsMax: 5 })).toEqual({ hasMore: false });
  expect(client.asked()).toMatchObject([{ ConsistentRead: true, Limit: 6 }]);
});

it('days of a range that ends before it begins are none, and nothing is asked for', async () => {
  expect(await history.days({ tenant, from: '2026-01-03', to: '2026-01-02' })).toEqual([]);
  expect(client.asked()).toEqual([]);
  // One that ends as it begins is of one day.
  await history.days({ tenant, from: '2026-01-02', to: '2026-01-02' });
  expect(client.asked()).toHaveLength(1);
});
