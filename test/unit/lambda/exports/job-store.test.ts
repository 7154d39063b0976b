import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createDynamoDbExportJobs } from '../../../../lambda/exports/job-store.ts';
import { type ExportJob, newExportJob } from '../../../../lambda/exports/rules/job.ts';
import { AwsServiceError, LedgerUnavailableError } from '../../../../lambda/rules/errors.ts';
import { wholeTenant as request } from '../../../support/export-request.ts';
import { FakeTable } from '../table/fake-table.ts';

const client = new FakeTable();
const jobs = createDynamoDbExportJobs({ client, tableName: 'table' });
beforeEach(() => client.reset());
afterEach(() => void vi.useRealTimers());

const job = newExportJob({ tenant: 'acme', exportId: 'id', request, nowMs: 1000, limitMs: 500 });
const key = { pk: 'EXPORTS#acme', sk: 'EXPORT#id' };
const day = 24 * 60 * 60;

const failed = () =>
  new AwsServiceError({
    status: 400,
    code: 'ConditionalCheckFailedException',
    message: 'No.',
  });
const more = (found: ExportJob) => ({ ...found, round: found.round + 1 });
const putItems = () =>
  client
    .asked()
    .filter((input) => 'Item' in input)
    .map((input) => input['Item'] as Record<string, unknown>);

describe('the record of an export', () => {
  it('has a key, an end a week after its archive, and a place in the index until nothing is left to do', async () => {
    client.on('GetItem').resolves({ Item: { ...key, ...job } });
    client.on('PutItem').resolves({});
    await jobs.change(job, more);
    await jobs.change(job, (found) => ({ ...found, state: 'done', expiresAtMs: 4001 }));
    await jobs.change(job, (found) => ({ ...found, state: 'failed', isTidy: true }));
    const index = (dueAtMs: number) => ({
      gsi1pk: 'EXPORTS',
      gsi1sk: `${String(dueAtMs).padStart(16, '0')}#acme#id`,
    });
    const [open, ended, tidy] = putItems();
    const openUntilMs = Math.min(job.endsByMs, job.movedAtMs + 15 * 60_000);
    expect(open).toMatchObject({
      ...key,
      ...index(openUntilMs),
      version: 2,
      round: 2,
      expiresAt: 2 + 7 * day,
    });
    expect(ended).toMatchObject({ ...key, ...index(job.movedAtMs + 5 * 60_000), expiresAt: 5 + 7 * day });
    expect(tidy).toMatchObject(key);
    expect(tidy).not.toHaveProperty('gsi1pk');
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

describe('a change', () => {
  it('is not made again after a lost answer', async () => {
    client.on('GetItem').resolvesOnce({ Item: { ...key, ...job } });
    client.on('PutItem').resolves({});
    const written = client.send.bind(client);
    let puts = 0;
    // The write lands, the client sends it again, and its own version is in the way.
    const lossy = createDynamoDbExportJobs({
      tableName: 'table',
      client: {
        send: async (operation, input) => {
          const output = await written(operation, input as object);
          if (operation !== 'PutItem') return output;
          puts += 1;
          client.on('GetItem').resolves({ Item: putItems().at(-1) ?? {} });
          throw failed();
        },
      },
    });
    expect(await lossy.change(job, more)).toEqual({ ...job, round: 2, version: 2 });
    expect(puts).toBe(1);
  });

  it('is given up if others are always first', async () => {
    client.on('GetItem').resolves({ Item: { ...key, ...job } });
    const beaten = createDynamoDbExportJobs({
      tableName: 'table',
      client: {
        send: async (operation, input) => {
          if (operation === 'PutItem') throw failed();
          return await client.send(operation, input as object);
        },
      },
    });
    vi.useFakeTimers();
    const outcome = beaten.change(job, more).catch((error: unknown) => error);
    await vi.runAllTimersAsync();
    expect(await outcome).toBeInstanceOf(LedgerUnavailableError);
    expect(client.asked()).toHaveLength(30);
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
