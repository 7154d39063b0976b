import { createServer } from 'node:http';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { TableClient } from '../../../../lambda/core/table/table.ts';
import { tableDefinition } from '../../../../lambda/core/table/table.ts';
import { systemClock, systemIds } from '../../../../lambda/frame/aws/clock-and-ids.ts';
import { openSharedTable } from '../../../../local/data/shared-table.ts';
import { closeServer, listen } from '../../../../local/system/loopback-server.ts';
import { LocalTable } from '../../../../local/table/table.ts';
import { MemoryStore } from '../../../support/memory/memory-store.ts';
import { recordingLog } from '../../../support/recording-log.ts';

const closing: (() => Promise<void>)[] = [];
afterEach(async () => {
  vi.restoreAllMocks();
  for (const close of closing.splice(0)) await close();
});

/** Numbers and texts as DynamoDB sends them, which is all that this table is asked for. */
const wire = (value: unknown): unknown => (typeof value === 'number' ? { N: String(value) } : { S: value });
const plain = (value: { S?: string; N?: string }) => value.S ?? Number(value.N);
const mapped = (fields: object | undefined, map: (value: never) => unknown) =>
  fields && Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, map(value as never)]));

/** A service with DynamoDB's API over a table. */
async function serviceOf(client: TableClient) {
  const asked: string[] = [];
  const items: (object | undefined)[] = [];
  const answer = async (operation: string, input: Record<string, object>): Promise<object> => {
    if (operation === 'DescribeTable')
      return { Table: { ...tableDefinition('shared'), TableStatus: 'ACTIVE' } };
    if (operation === 'DescribeTimeToLive') return { TimeToLiveDescription: { TimeToLiveStatus: 'ENABLED' } };
    items.push(mapped(input['Item'], plain));
    const given = {
      ...input,
      ...(input['Item'] && { Item: mapped(input['Item'], plain) }),
      ...(input['Key'] && { Key: mapped(input['Key'], plain) }),
      ExpressionAttributeValues: mapped(input['ExpressionAttributeValues'], plain),
    };
    const output = await client.send(operation as 'UpdateItem', given as never);
    return { ...output, ...(output.Attributes && { Attributes: mapped(output.Attributes, wire) }) };
  };
  const server = createServer({ keepAliveTimeout: 60_000 }, (message, response) => {
    const chunks: Buffer[] = [];
    message.on('data', (chunk) => chunks.push(chunk));
    message.on('end', async () => {
      const operation = String(message.headers['x-amz-target']).split('.')[1] ?? '';
      asked.push(operation);
      const say = (status: number, body: object) =>
        response
          .writeHead(status, { 'content-type': 'application/x-amz-json-1.0', 'x-amzn-requestid': '1' })
          .end(JSON.stringify(body));
      await answer(operation, JSON.parse(Buffer.concat(chunks).toString())).then(
        (body) => say(200, body),
        (error) =>
          say(400, { __type: `com.amazonaws.dynamodb.v20120810#${error.name}`, message: error.message }),
      );
    });
  });
  const port = await listen(server, { port: 0, usedBy: 'the table' });
  closing.push(() => closeServer(server, 0));
  const credentials = { accessKeyId: 'key', secretAccessKey: 'secret' };
  const settings = { endpoint: `http://127.0.0.1:${port}`, name: 'shared', region: 'us-east-1', credentials };
  const ports = { ownPath: '/nowhere/table', log: recordingLog().log, clock: systemClock, ids: systemIds };
  return { asked, items, open: () => openSharedTable(settings, ports) };
}

describe('a shared table', () => {
  it('is asked by twenty writes at once for what fits one, and nothing of it stays', async () => {
    const store = new MemoryStore();
    const { asked, items, open } = await serviceOf(new LocalTable(store));
    const { tableName } = await open();
    expect(tableName).toBe('shared');
    expect(asked.filter((operation) => operation === 'UpdateItem')).toHaveLength(20);
    const [probe] = items.filter(Boolean) as { pk: string; sk: string; expiresAt: number }[];
    expect(probe?.expiresAt).toBeGreaterThan(Date.now() / 1_000);
    expect(store.find({ pk: String(probe?.pk), sk: String(probe?.sk) })).toBeUndefined();
  });

  it('that reads and writes apart is refused, with the write isolation that it needs', async () => {
    const table = new LocalTable(new MemoryStore());
    let readers = 0;
    const { open, asked } = await serviceOf({
      send: async (operation, input) => {
        if (operation !== 'UpdateItem') return table.send(operation, input);
        const { ConditionExpression, ...write } = input as unknown as Record<string, object>;
        const { Key, TableName } = write;
        const { Item } = await table.send('GetItem', { Key, TableName } as never);
        if (Number((Item as { used?: number }).used) > 0)
          throw Object.assign(new Error('The conditional request failed'), {
            name: 'ConditionalCheckFailedException',
          });
        readers += 1;
        await vi.waitUntil(() => readers >= 2);
        const ExpressionAttributeValues = { ':used': 1 };
        return table.send(operation, { ...write, ExpressionAttributeValues } as never);
      },
    });
    await expect(open()).rejects.toThrow(/always_use_lwt/);
    expect(asked.at(-1)).toBe('DeleteItem');
  });

  it('that forbids conditions is refused with what it says of that', async () => {
    const table = new LocalTable(new MemoryStore());
    const { open } = await serviceOf({
      send: (operation, input) =>
        'ConditionExpression' in input
          ? Promise.reject(
              Object.assign(new Error("Read-modify-write operations are disabled by 'forbid_rmw'"), {
                name: 'ValidationException',
              }),
            )
          : table.send(operation, input),
    });
    await expect(open()).rejects.toThrow(/disabled by 'forbid_rmw'/);
  });
});
