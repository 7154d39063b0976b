import { beforeEach, describe, expect, it } from 'vitest';
import { deletionKey, reservationKey } from '../../../../../lambda/core/ledger/items.ts';
import { createDynamoDbLedger, type Ledger } from '../../../../../lambda/core/ledger/ledger.ts';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import { stored } from '../../../../../lambda/core/table/stored-names.ts';
import { byDueIndex, byKindIndex } from '../../../../../lambda/core/table/table.ts';
import { FakeTable } from '../../../../support/fake-table.ts';

const tenant = 'acme';
const path = { tenant, repo: 'app' };
const table = new FakeTable();
const ledger = createDynamoDbLedger({ client: table, tableName: 'ledger' });

const repoItem = (repo: string) =>
  stored({
    pk: `TENANT#${tenant}`,
    sk: `REPO#${repo}`,
    repo,
    storedBytes: 1,
    objectCount: 1,
    scannedAtMs: 1,
    epoch: 1,
    covered: [],
  });
const reservationItem = (reservationId: string) =>
  stored({
    ...reservationKey({ ...path, reservationId }),
    reservationId,
    repo: 'app',
    state: 'issued',
    entries: {},
    createdAtMs: 1,
    expiresAtMs: 1,
    lapsedAtMs: 1,
  });
const tenantItem = (name: string) =>
  stored({
    tenant: name,
    createdAtMs: 1,
    committedBytes: 1,
    epoch: 1,
    appliedEpoch: 1,
    confirmedBaseBytes: 1,
    confirmedUntilMs: 1,
    deletedBytes: 0,
    intents: {},
    leaseUntilMs: 0,
    dueat: 1,
  });
const deletionItem = (deletionId: string) =>
  stored({
    ...deletionKey({ ...path, deletionId }),
    deletionId,
    repo: 'app',
    state: 'scheduled',
    objects: {},
    dueAtMs: 1,
    deadlineMs: 0,
  });

/** What was asked of the table, in order. */
const asked = () => table.asked();

beforeEach(() => {
  table.reset();
  table.on('GetItem').resolves({});
  table.on('Query').resolves({ Items: [] });
  table.on('BatchGetItem').resolves({ Responses: {} });
});

type Read = (ledger: Ledger) => Promise<unknown>;

const consistent: readonly [name: keyof Ledger, read: Read][] = [
  ['readTenant', (from) => from.readTenant(tenant)],
  ['readRepo', (from) => from.readRepo(path)],
  ['readReservation', (from) => from.readReservation({ ...path, reservationId: 'r' })],
  ['repos', (from) => allPages(from.repos(tenant))],
  ['listRepos', (from) => from.listRepos({ tenant, pageSize: 2 })],
  ['reservations', (from) => allPages(from.reservations(tenant))],
  ['reservationsOf', (from) => allPages(from.reservationsOf(path))],
  ['listReservations', (from) => from.listReservations({ tenant, pageSize: 2 })],
  ['deletions', (from) => allPages(from.deletions(tenant))],
  ['deletionsOf', (from) => allPages(from.deletionsOf(path))],
  ['shards', (from) => allPages(from.shards(path))],
  ['listDeletions', (from) => from.listDeletions({ tenant, pageSize: 2 })],
];

describe('a read of the table', () => {
  it.each(consistent)('by %s is strongly consistent', async (_, read) => {
    await read(ledger);
    expect(asked()).toMatchObject([{ TableName: 'ledger', ConsistentRead: true }]);
  });

  it('by an index cannot be; the tenants that it names are then read strongly consistent', async () => {
    table.on('Query').resolves({ Items: [{ pk: `TENANT#${tenant}` }] });
    await ledger.listTenants({ pageSize: 3 });
    const [query, get] = asked();
    expect(query).toMatchObject({ IndexName: byKindIndex.name, Limit: 3 });
    expect(query?.['ConsistentRead']).toBeUndefined();
    expect(get).toMatchObject({ RequestItems: { ledger: { ConsistentRead: true } } });
    table.resetHistory();
    table.on('Query').resolves({ Items: [] });
    await ledger.dueTenants({ untilMs: 1, tenantsMax: 5 });
    expect(new Set(asked().map((input) => input['IndexName']))).toEqual(new Set([byDueIndex.name]));
  });

  const pageItems: readonly [
    name: keyof Ledger,
    item: (id: string) => Record<string, unknown>,
    read: (from: Ledger) => AsyncIterable<readonly unknown[]>,
  ][] = [
    ['repos', repoItem, (from) => from.repos(tenant)],
    ['reservations', reservationItem, (from) => from.reservations(tenant)],
    ['reservationsOf', reservationItem, (from) => from.reservationsOf(path)],
    ['deletions', deletionItem, (from) => from.deletions(tenant)],
    ['deletionsOf', deletionItem, (from) => from.deletionsOf(path)],
  ];

  it.each(pageItems)(
    'by %s follows LastEvaluatedKey to the last page, also past empty ones',
    async (_, item, read) => {
      table
        .on('Query')
        .resolvesOnce({ Items: [item('a')], LastEvaluatedKey: { pk: 'p', sk: '1' } })
        .resolvesOnce({ Items: [], LastEvaluatedKey: { pk: 'p', sk: '2' } })
        .resolvesOnce({ Items: [item('b'), item('c')] });
      const pages: number[] = [];
      for await (const page of read(ledger)) pages.push(page.length);
      expect(pages).toEqual([1, 0, 2]);
      expect(asked().map((input) => input['ExclusiveStartKey'])).toEqual([
        undefined,
        { pk: 'p', sk: '1' },
        { pk: 'p', sk: '2' },
      ]);
    },
  );

  it.each(pageItems)('by %s finds nothing in an answer without items', async (_, _item, read) => {
    table.on('Query').resolves({});
    expect(await allPages(read(ledger))).toEqual([]);
  });

  it('of lists finds nothing in an answer without items', async () => {
    table.on('Query').resolves({});
    expect(await ledger.listTenants({ pageSize: 3 })).toEqual([]);
    expect(asked()).toHaveLength(1);
    expect(await ledger.listRepos({ tenant, pageSize: 3 })).toEqual([]);
    expect(await ledger.listReservations({ tenant, pageSize: 3 })).toEqual({ reservations: [], next: null });
    expect(await ledger.listDeletions({ tenant, pageSize: 3 })).toEqual({ deletions: [], next: null });
    expect(await ledger.dueTenants({ untilMs: 1, tenantsMax: 3 })).toEqual({ due: [], untilMs: 1 });
  });

  it('by listRepos ends with the page that it was asked for, in however many answers that comes', async () => {
    table
      .on('Query')
      .resolvesOnce({ Items: [repoItem('a')], LastEvaluatedKey: { pk: 'p', sk: '1' } })
      .resolvesOnce({ Items: [repoItem('b'), repoItem('c')], LastEvaluatedKey: { pk: 'p', sk: '2' } });
    const found = await ledger.listRepos({ tenant, pageSize: 2 });
    expect(found.map(({ repo }) => repo)).toEqual(['a', 'b']);
    expect(asked()).toHaveLength(2);
    table.resetHistory();
    table
      .on('Query')
      .resolves({ Items: [repoItem('a'), repoItem('b')], LastEvaluatedKey: { pk: 'p', sk: '2' } });
    expect(await ledger.listRepos({ tenant, pageSize: 2 })).toHaveLength(2);
    expect(asked()).toHaveLength(1);
  });

  it('by listReservations is one request, however little of the page comes with it', async () => {
    table.on('Query').resolves({ Items: [reservationItem('a')], LastEvaluatedKey: { pk: 'p', sk: '1' } });
    const page = await ledger.listReservations({ tenant, pageSize: 1000 });
    expect(page).toMatchObject({ reservations: [{ id: 'a' }], next: { repo: 'app', reservationId: 'a' } });
    expect(asked()).toMatchObject([{ Limit: 1000 }]);
  });

  it('by listDeletions is one request too', async () => {
    table.on('Query').resolves({ Items: [deletionItem('a')], LastEvaluatedKey: { pk: 'p', sk: '1' } });
    const page = await ledger.listDeletions({ tenant, pageSize: 1000 });
    expect(page).toMatchObject({ deletions: [{ id: 'a' }], next: { repo: 'app', deletionId: 'a' } });
    expect(asked()).toMatchObject([{ Limit: 1000 }]);
  });

  it('by listTenants is in the order of their names, in whatever order the table gives their items', async () => {
    const names = ['a', 'b', 'c'];
    table.on('Query').resolves({ Items: names.map((name) => ({ pk: `TENANT#${name}` })) });
    for (const order of [names, ['c', 'b', 'a'], ['b', 'c', 'a']]) {
      table.on('BatchGetItem').resolves({ Responses: { ledger: order.map(tenantItem) } });
      const found = await ledger.listTenants({ pageSize: 3 });
      expect(found.map((record) => record.tenant)).toEqual(names);
    }
  });

  it('by listTenants begins before every name, and with no empty key, which DynamoDB refuses', async () => {
    await ledger.listTenants({ pageSize: 3 });
    const values = asked()[0]?.['ExpressionAttributeValues'] as Record<string, string>;
    expect(values[':after']).not.toBe('');
    for (const first of ['-', '0', 'A', 'a']) expect((values[':after'] ?? '') < first).toBe(true);
  });

  it('asks again for the keys of a batch that the table left unprocessed', async () => {
    const names = ['a', 'b'].map((name) => ({ pk: `TENANT#${name}` }));
    table.on('Query').resolves({ Items: names });
    const Keys = [{ pk: 'TENANT#b', sk: 'TENANT' }];
    table
      .on('BatchGetItem')
      .resolvesOnce({ UnprocessedKeys: { ledger: { Keys } } })
      .resolves({});
    await ledger.listTenants({ pageSize: 2 });
    expect(asked().slice(1)).toMatchObject([
      { RequestItems: { ledger: { Keys: [{ pk: 'TENANT#a' }, { pk: 'TENANT#b' }] } } },
      { RequestItems: { ledger: { Keys, ConsistentRead: true } } },
    ]);
  });

  it('by dueTenants reads a partition of the index no further than it must', async () => {
    const item = { pk: `TENANT#${tenant}`, dueat: 1 };
    table.on('Query').resolves({ Items: [item], LastEvaluatedKey: { pk: 'p' } });
    expect(await ledger.dueTenants({ untilMs: 1, tenantsMax: 2 })).toEqual({
      due: [{ tenant, full: true, deletes: true, dueAtMs: 1 }],
      untilMs: 1,
    });
    const partitions = 12;
    // One tenant may fill many pages with its lapsed reservations: after 20 the others wait for the next run.
    expect(asked()).toHaveLength(partitions * 20);
    table.resetHistory();
    await ledger.dueTenants({ untilMs: 1, tenantsMax: 1 });
    expect(asked()).toHaveLength(partitions);
  });
});
