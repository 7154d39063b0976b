import { beforeEach, describe, expect, it } from 'vitest';
import { createDynamoDbLedger } from '../../../../../lambda/core/ledger/ledger.ts';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import { createDynamoDbAuditLog } from '../../../../../lambda/frame/access/audit-store.ts';
import * as stores from '../../../../../lambda/lists/stores.ts';
import { FakeTable } from '../../../../support/fake-table.ts';

const client = new FakeTable();
const table = { client, tableName: 'ledger' };
const tenant = 'acme';

beforeEach(() => {
  client.reset();
  client.on('GetItem').resolves({});
  client.on('Query').resolves({});
  client.on('BatchGetItem').resolves({});
});

describe('a list beside the ledger', () => {
  const lists: readonly [what: string, read: () => Promise<unknown>, empty: unknown, limit?: number][] = [
    [
      'entries of the audit',
      () => createDynamoDbAuditLog(table).list({ tenant, fromMs: 0, untilMs: 1, pageSize: 5 }),
      { entries: [], next: null },
      7,
    ],
    [
      'what batches have named',
      () => allPages(createDynamoDbLedger(table).seen({ tenant, watchId: 'w', fromMs: 0 })),
      [],
    ],
  ];

  it.each(lists)('of %s is strongly consistent, and reads no more than it shows', async (...list) => {
    const [, read, empty, limit] = list;
    expect(await read()).toEqual(empty);
    expect(client.asked()).toHaveLength(1);
    expect(client.asked()[0]).toMatchObject({ TableName: 'ledger', ConsistentRead: true });
    expect(client.asked()[0]?.['Limit']).toBe(limit);
  });

  it('that shows the newest first asks for them in that order', async () => {
    await createDynamoDbAuditLog(table).list({ tenant, fromMs: 0, untilMs: 1, pageSize: 5 });
    expect(client.asked()).toMatchObject([{ ScanIndexForward: false }]);
  });

  const byIndex: readonly [what: string, read: () => Promise<unknown>, values: object, limit?: number][] = [
    [
      'tokens',
      () => stores.tokens(table).listPage({ tenant, pageSize: 5 }),
      { ':kind': 'TOKENS#acme', ':after': ' ' },
      6,
    ],
    ['all tokens', () => stores.tokens(table).list(tenant), { ':kind': 'TOKENS#acme' }],
  ];

  it.each(byIndex)('of %s is by kind, which no index reads consistently', async (_, read, values, limit) => {
    await read();
    expect(client.asked()[0]).toMatchObject({ IndexName: 'by-kind', ExpressionAttributeValues: values });
    expect(client.asked()[0]).not.toHaveProperty('ConsistentRead');
    expect(client.asked()[0]?.['Limit']).toBe(limit);
  });

  it('of a range that ends before it begins asks for nothing', async () => {
    const audit = createDynamoDbAuditLog(table);
    expect(await audit.list({ tenant, fromMs: 2, untilMs: 1, pageSize: 5 })).toEqual({
      entries: [],
      next: null,
    });
    expect(client.asked()).toEqual([]);
    // One that ends as it begins is of one day.
    await audit.list({ tenant, fromMs: 1, untilMs: 1, pageSize: 5 });
    expect(client.asked()).toHaveLength(1);
  });
});
