import { existsSync } from 'node:fs';
import {
  CreateTableCommand,
  DescribeTableCommand,
  DescribeTimeToLiveCommand,
  DynamoDBClient,
  type DynamoDBClientConfig,
  type TableDescription,
  UpdateTimeToLiveCommand,
  waitUntilTableExists,
} from '@aws-sdk/client-dynamodb';
import type { Clock, Ids, Log } from '../../lambda/core/rules/clock-and-log.ts';
import { AwsServiceError } from '../../lambda/core/rules/errors.ts';
import { errorChain } from '../../lambda/core/rules/text.ts';
import { createDynamoDb } from '../../lambda/core/table/client.ts';
import { absent, adding } from '../../lambda/core/table/expressions.ts';
import { deleteItem, putItem, type Table, updateItem } from '../../lambda/core/table/requests.ts';
import { calling } from '../../lambda/core/table/sdk.ts';
import { expiring, expiryAttribute, tableDefinition } from '../../lambda/core/table/table.ts';
import { StartupError } from '../system/durable-file.ts';
import type { Database } from './database.ts';

/** A table that speaks DynamoDB's API. */
export interface TableSettings {
  readonly endpoint: string;
  readonly name: string;
  readonly region: string;
  readonly credentials: NonNullable<DynamoDBClientConfig['credentials']>;
}

type Ports = { clock: Pick<Clock, 'nowMs'>; ids: Ids };

const createdWithinS = 120;

/**
 * Opens a table that other processes use, too. It's created if it isn't there.
 *
 * @param ownPath where the data folder would have one. @throws {StartupError}
 */
export async function openSharedTable(
  { name, ...place }: TableSettings,
  { ownPath, log, ...ports }: { ownPath: string; log: Log } & Ports,
): Promise<Pick<Database, 'client' | 'tableName' | 'isWritable'>> {
  if (existsSync(ownPath))
    throw new StartupError(
      `The data folder has a table of its own, ${ownPath}. Move it with lfs-quota table backup and lfs-quota table restore, or choose another folder.`,
    );
  const engine = new DynamoDBClient({ ...place, maxAttempts: 3 });
  const table = { client: createDynamoDb(place), tableName: name };
  try {
    await createIfAbsent(engine, name);
    if (!(await isolatesWrites(table, ports)))
      throw new Error(
        "It doesn't isolate writes. ScyllaDB needs alternator_write_isolation: always_use_lwt.",
      );
  } catch (error) {
    throw new StartupError(`The table ${name} can't be used: ${errorChain(error)}`, { cause: error });
  }
  await removeExpired(engine, name).catch((error) =>
    log.warn("expired items stay in the table: it can't have a time to live", { error }),
  );
  engine.destroy();
  return { ...table, isWritable: () => true };
}

/** Another process may create it at the same time. */
async function createIfAbsent(engine: DynamoDBClient, name: string): Promise<void> {
  const definition = tableDefinition(name);
  const isCode = (error: unknown, code: string) => error instanceof AwsServiceError && error.code === code;
  const described = () =>
    calling({ title: 'The table', operation: 'DescribeTable' }, () =>
      engine.send(new DescribeTableCommand({ TableName: name })),
    );
  const found = await described().catch((error) => {
    if (!isCode(error, 'ResourceNotFoundException')) throw error;
  });
  if (found === undefined)
    await calling({ title: 'The table', operation: 'CreateTable' }, () =>
      engine.send(new CreateTableCommand(definition)),
    ).catch((error) => {
      if (!isCode(error, 'ResourceInUseException')) throw error;
    });
  await waitUntilTableExists({ client: engine, maxWaitTime: createdWithinS }, { TableName: name });
  const { Table } = await described();
  const namesOf = ({ KeySchema = [], GlobalSecondaryIndexes = [] }: TableDescription) => [
    ...KeySchema.map(({ AttributeName }) => AttributeName),
    ...GlobalSecondaryIndexes.map(({ IndexName }) => IndexName),
  ];
  const has = new Set(namesOf(Table ?? {}));
  if (!namesOf(definition as TableDescription).every((each) => has.has(each)))
    throw new StartupError("It isn't one of lfs-quota. Choose another name with --table-name.");
}

const probesAtOnce = 20;
const dayMs = 86_400_000;

/** Of writes at once that depend on what is there, one may pass. Otherwise pushes at once go beyond a limit. */
async function isolatesWrites(table: Table, { clock, ids }: Ports): Promise<boolean> {
  const key = { pk: 'PROBE', sk: ids.random(20) };
  // It expires, in case that this process dies.
  const item = { ...key, used: 0, ...expiring(clock.nowMs() + dayMs) };
  await putItem(table, { item, condition: absent });
  const write = { key, change: [adding({ used: 1 })], condition: '#used = :none', values: { ':none': 0 } };
  const probes = await Promise.all(Array.from({ length: probesAtOnce }, () => updateItem(table, write)));
  await deleteItem(table, { key });
  return probes.filter(({ ok }) => ok).length <= 1;
}

async function removeExpired(engine: DynamoDBClient, TableName: string): Promise<void> {
  const { TimeToLiveDescription } = await engine.send(new DescribeTimeToLiveCommand({ TableName }));
  if (/^ENABL/.test(TimeToLiveDescription?.TimeToLiveStatus ?? '')) return;
  const TimeToLiveSpecification = { AttributeName: expiryAttribute, Enabled: true };
  await engine.send(new UpdateTimeToLiveCommand({ TableName, TimeToLiveSpecification }));
}
