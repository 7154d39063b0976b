import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  BatchGetCommand,
  BatchWriteCommand,
  DeleteCommand,
  DynamoDBDocumentClient,
  QueryCommand,
  ScanCommand,
  UpdateCommand,
} from '@aws-sdk/lib-dynamodb';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { backupText } from '../../../../local/backup/backup-file.ts';
import {
  type AwsTable,
  finishTable,
  importTable,
  itemsOfTable,
  openAwsTable,
} from '../../../../local/backup/dynamodb.ts';

type Item = Record<string, unknown>;

const tenant = (name: string): Item => ({ pk: `TENANT#${name}`, sk: 'TENANT', tenant: name, epoch: 4 });
const repo = (name: string): Item => ({ pk: `TENANT#${name}`, sk: 'REPO#app', repo: 'app', epoch: 4 });
const items = Array.from({ length: 60 }, (_, index) => [tenant(`t${index}`), repo(`t${index}`)]).flat();

async function* lines() {
  yield items.map((item) => JSON.stringify(item));
}
const backup = () => backupText('serve', lines());

const answered = { $metadata: { requestId: '1' } };
const frozen = readFileSync(join(import.meta.dirname, 'format-1.jsonl'), 'utf8').split('\n');
const oldTenant: Item = JSON.parse(frozen.find((line) => line.includes('"sk":"TENANT"')) ?? '');

/** What a table takes of each batch, the rest it leaves. */
class FakeTable {
  readonly written: Item[] = [];
  tenants: Item[] = [];
  takes: (batch: Item[]) => Item[] = (batch) => batch;
  readonly mock = mockClient(DynamoDBDocumentClient);
  readonly table: AwsTable = openAwsTable({ name: 'new', region: 'eu-central-1' });

  constructor() {
    this.mock.on(QueryCommand).callsFake(async () => ({ ...answered, Items: this.tenants }));
    this.mock.on(BatchGetCommand).callsFake(async () => ({ ...answered, Responses: { new: this.tenants } }));
    this.mock.on(BatchWriteCommand).callsFake(async ({ RequestItems }) => {
      const batch: Item[] = RequestItems['new'].map(
        (each: { PutRequest: { Item: Item } }) => each.PutRequest.Item,
      );
      expect(batch.length).toBeLessThanOrEqual(25);
      const taken = new Set(this.takes(batch));
      this.written.push(...taken);
      const left = batch.filter((item) => !taken.has(item)).map((Item) => ({ PutRequest: { Item } }));
      return { UnprocessedItems: left.length > 0 ? { new: left } : {} };
    });
  }

  import(more: Partial<Parameters<typeof importTable>[1]> = {}) {
    const input = { text: backup, uploadsFromMs: 7, isResumed: false, onProgress: () => {} };
    return importTable(this.table, { ...input, ...more });
  }
}

let fake: FakeTable;
beforeEach(() => {
  fake = new FakeTable();
  // No pause is longer than chance has it.
  vi.spyOn(Math, 'random').mockReturnValue(0);
});
afterEach(() => {
  vi.restoreAllMocks();
  fake.mock.restore();
});

describe('an import', () => {
  it('writes each item once, on hold, and the tenants last', async () => {
    await fake.import();
    const keys = fake.written.map(({ pk, sk }) => `${pk} ${sk}`);
    expect([...keys].sort()).toEqual(items.map(({ pk, sk }) => `${pk} ${sk}`).sort());
    expect(fake.written.findIndex(({ sk }) => sk === 'TENANT')).toBe(60);
    for (const item of fake.written.slice(60))
      expect(item).toMatchObject({ epoch: 1_000_004, uploadsFromMs: 7 });
  });

  it('sends again what the table leaves, and what it throttles', async () => {
    let calls = 0;
    fake.takes = (batch) => {
      calls += 1;
      const name = ['ThrottlingException', 'ProvisionedThroughputExceededException'][calls % 5];
      if (name) throw Object.assign(new Error(name), { name });
      return batch.slice(0, Math.ceil(batch.length / 2));
    };
    await fake.import();
    expect(fake.written).toHaveLength(items.length);
  });

  it('gives up on a table that takes nothing, and says how to go on', async () => {
    fake.takes = () => [];
    await expect(fake.import()).rejects.toThrow('Continue with --again');
  });

  it('goes no further after a refusal', async () => {
    fake.takes = () => {
      throw Object.assign(new Error('not yours'), { name: 'AccessDeniedException' });
    };
    await expect(fake.import()).rejects.toThrow('not yours');
    expect(fake.written).toEqual([]);
  });

  it('writes nothing of a backup that is cut', async () => {
    async function* cut() {
      for await (const piece of backup()) yield piece.slice(0, 3000);
    }
    await expect(fake.import({ text: cut })).rejects.toThrow('cut or damaged');
    expect(fake.written).toEqual([]);
  });

  it('leaves a table with tenants alone, unless it goes on with what was interrupted', async () => {
    fake.tenants = [oldTenant];
    await expect(fake.import()).rejects.toThrow('has tenants already');
    expect(fake.written).toEqual([]);
    await fake.import({ isResumed: true });
    expect(fake.written).toHaveLength(items.length);
  });
});

describe('an export', () => {
  it('reads every page, as it was written last', async () => {
    const pages = [
      { Items: items.slice(0, 3), LastEvaluatedKey: { pk: 'a' } },
      { LastEvaluatedKey: { pk: 'b' } },
      { Items: items.slice(3) },
    ];
    const asked: unknown[] = [];
    fake.mock.on(ScanCommand).callsFake(async ({ ConsistentRead, ExclusiveStartKey }) => {
      asked.push([ConsistentRead, ExclusiveStartKey]);
      return pages[asked.length - 1];
    });
    const found: unknown[] = [];
    for await (const some of itemsOfTable(fake.table)) found.push(...some);
    expect(found).toEqual(items);
    expect(asked).toEqual([
      [true, undefined],
      [true, { pk: 'a' }],
      [true, { pk: 'b' }],
    ]);
  });
});

describe('a table that DynamoDB restored', () => {
  it('is changed where it has to be, and the counter is left to those who add to it', async () => {
    const closed = { ...repo('a'), closedAtMs: 1, duepk: 'DELETION#1', dueat: 1 };
    const deletion = { pk: 'TENANT#a', sk: 'DELETION#app#1' };
    const all = [
      { ...tenant('a'), committedBytes: 5 },
      repo('b'),
      closed,
      deletion,
      { pk: 'LOCKS#a', sk: '1' },
    ];
    fake.mock.on(ScanCommand).callsFake(async () => ({ Items: all }));
    const updates: { Key: Item; UpdateExpression: string; ExpressionAttributeNames: Item }[] = [];
    fake.mock.on(UpdateCommand).callsFake(async (input) => {
      updates.push(input);
      return answered;
    });
    const deleted: unknown[] = [];
    fake.mock.on(DeleteCommand).callsFake(async ({ Key }) => {
      deleted.push(Key);
      return answered;
    });
    expect(await finishTable(fake.table, 7)).toBe(1);
    expect(deleted).toEqual([{ pk: 'TENANT#a', sk: 'DELETION#app#1' }]);
    expect(updates.map(({ Key }) => Key['sk'])).toEqual(['TENANT', 'REPO#app']);
    const [ofTenant, ofRepo] = updates;
    const names = Object.values(ofTenant?.ExpressionAttributeNames ?? {});
    expect(names).toEqual(
      expect.arrayContaining(['epoch', 'leaseUntilMs', 'uploadsFromMs', 'duepk', 'dueat']),
    );
    expect(names).not.toContain('committedBytes');
    expect(ofRepo?.UpdateExpression).toMatch(/^REMOVE (#\w+, ){2}#\w+$/);
  });
});
