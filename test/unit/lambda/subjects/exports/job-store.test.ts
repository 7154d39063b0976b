import { beforeEach, describe, expect, it } from 'vitest';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import { createDynamoDbExportJobs } from '../../../../../lambda/subjects/exports/job-store.ts';
import { type ExportJob, newExportJob } from '../../../../../lambda/subjects/exports/rules/job.ts';
import { FakeTable } from '../../../../support/fake-table.ts';
import { memoryTable } from '../../../../support/memory/table.ts';
import { wholeTenant as request } from '../../../../support/subjects/exports/export-request.ts';

const client = new FakeTable();
const jobs = createDynamoDbExportJobs({ client, tableName: 'table' });
beforeEach(() => client.reset());

const job = newExportJob({ tenant: 'acme', exportId: 'id', request, nowMs: 1000, limitMs: 500 });
const key = { pk: 'EXPORTS#acme', sk: 'EXPORT#id' };
const day = 24 * 60 * 60;

const putItems = () =>
  client
    .asked()
    .filter((input) => 'Item' in input)
    .map((input) => input['Item'] as Record<string, unknown>);

describe('the record of an export', () => {
  it('has a key, an end a week after its archive, and a place in the index until nothing is left to do', async () => {
    const table = memoryTable();
    const stored = createDynamoDbExportJobs(table);
    await stored.create(job, { placesMax: 1, nowMs: 1000 });
    const itemAfter = async (change: Partial<ExportJob>) => {
      await stored.change(job, (found) => ({ ...found, ...change }));
      return [...table.store.all()].find(({ sk }) => sk === key.sk);
    };
    const index = (dueAtMs: number) => ({
      gsi1pk: 'EXPORTS',
      gsi1sk: `${String(dueAtMs).padStart(16, '0')}#acme#id`,
    });
    const openUntilMs = Math.min(job.endsByMs, job.movedAtMs + 15 * 60_000);
    expect(await itemAfter({ round: 2 })).toMatchObject({
      ...key,
      ...index(openUntilMs),
      version: 2,
      round: 2,
      expiresAt: 2 + 7 * day,
    });
    expect(await itemAfter({ state: 'done', expiresAtMs: 4001 })).toMatchObject({
      ...key,
      ...index(job.movedAtMs + 5 * 60_000),
      expiresAt: 5 + 7 * day,
    });
    expect(await itemAfter({ state: 'failed', isTidy: true })).not.toHaveProperty('gsi1pk');
  });

  it.each([
    { listedObjects: null, isNamed: false },
    { listedObjects: 2, isNamed: true },
  ])('of an older version has no asker, and its list of $listedObjects may have names', async (listed) => {
    const { by: _, ...item } = job;
    const { isNamed: __, ...older } = { ...request, listedObjects: listed.listedObjects };
    client.on('GetItem').resolves({ Item: { ...key, ...item, request: older } });
    expect(await jobs.read(job)).toEqual({ ...job, by: null, request: { ...request, ...listed } });
  });

  it('is parsed when it is read', async () => {
    client.on('GetItem').resolves({ Item: { ...key, ...job, state: 'lost' } });
    await expect(jobs.read(job)).rejects.toThrow(/state/);
  });
});

describe('a place', () => {
  const places = (holders: readonly { exportId: string; takenAtMs: number }[]) => ({
    Item: { pk: 'EXPORTS#acme', sk: 'PLACES', holders, writeId: 'before' },
  });

  it.each([
    ['a minute', 60_999, 'full'],
    ['longer', 61_000, 'created'],
  ] as const)('whose record was not put for %s', async (_, nowMs, outcome) => {
    client
      .on('GetItem')
      .resolvesOnce({})
      .resolvesOnce(places([{ exportId: 'dead', takenAtMs: 1000 }]));
    client.on('BatchGetItem').resolves({});
    client.on('PutItem').resolves({});
    expect(await jobs.create(job, { placesMax: 1, nowMs })).toBe(outcome);
    const holders = [{ exportId: 'id', takenAtMs: nowMs }];
    expect(putItems().map((item) => item['holders'] ?? item['exportId'])).toEqual(
      outcome === 'full' ? [] : [holders, 'id'],
    );
  });

  it('that is the last one leaves no item behind', async () => {
    client.on('GetItem').resolves(places([{ exportId: 'id', takenAtMs: 1000 }]));
    client.on('DeleteItem').resolves({});
    await jobs.leavePlace(job);
    expect(client.asked().at(-1)).toMatchObject({
      Key: { pk: 'EXPORTS#acme', sk: 'PLACES' },
      ExpressionAttributeValues: { ':before': 'before' },
    });
  });
});

describe('the list of a tenant', () => {
  it('is strongly consistent, shows the newest first, and reads no more than it shows', async () => {
    client.on('Query').resolves({});
    expect(await jobs.list({ tenant: 'acme', pageSize: 5 })).toEqual({ jobs: [], nextCursor: null });
    expect(client.asked()).toMatchObject([
      { TableName: 'table', ConsistentRead: true, ScanIndexForward: false, Limit: 7 },
    ]);
  });
});

it('what is due is read by kind, which no index reads consistently', async () => {
  client.on('Query').resolves({});
  expect(await allPages(jobs.listDue({ nowMs: 41 }))).toEqual([]);
  const [asked] = client.asked();
  const values = { ':kind': 'EXPORTS', ':before': '0000000000000042' };
  expect(asked).toMatchObject({ IndexName: 'by-kind', ExpressionAttributeValues: values });
  expect(asked).not.toHaveProperty('ConsistentRead');
  expect(asked?.['Limit']).toBeUndefined();
});
