import { setTimeout as delay } from 'node:timers/promises';
import { AwsServiceError } from '../../lambda/adapters/aws-sdk/service-error.ts';
import { tableDefinition } from '../../lambda/adapters/dynamodb/table.ts';
import { diskFullAdvice, isDiskFull } from '../system/disk-full.ts';
import { errorCode, StartupError } from '../system/startup-error.ts';
import { Turns } from '../turns.ts';
import { repairTable } from './database-repair.ts';
import { type CreateStore, openTables } from './open-tables.ts';
import { probeSpace } from './space-probe.ts';
import { createLocalTableClient, type LocalTableClient } from './table-client.ts';
import { TableEngine } from './table-engine.ts';

export interface Database {
  /** Its requests reach the engine in this process directly. Nobody else can send any. */
  readonly client: LocalTableClient;
  readonly tableName: string;
  /** Whether the table was created, found, or repaired after a kill during its creation. */
  readonly origin: 'created' | 'found' | 'repaired';
  /** Whether writes fail now because the disk is full. */
  isDiskFull(): boolean;
  /** Waits for running requests. */
  close(): Promise<void>;
}

const tableName = 'lfs-quota';

/** How long a new table may take to become active before the start fails. */
const tableWaitMs = 10_000;

/**
 * Opens a DynamoDB engine inside this process, with its data below `databasePath`.
 *
 * @param parts stand in for LevelDB and the disk, in tests. `turns` are those of the process.
 * @throws {StartupError} when another process holds the database, or it is not readable.
 */
export async function openDatabase(
  databasePath: string,
  parts: {
    createStore?: CreateStore;
    probe?: (folder: string) => Promise<void>;
    turns?: Pick<Turns, 'pause'>;
  } = {},
): Promise<Database> {
  const { createStore, probe = probeSpace, turns = new Turns() } = parts;
  let repair: 'whole' | 'repaired' = 'whole';
  const open = () =>
    openTables(
      databasePath,
      async (store) => {
        repair = await repairTable(store, tableName);
      },
      createStore,
    );
  const engine = await TableEngine.start({ open, probe: () => probe(databasePath) }).catch((error) => {
    throw openError(databasePath, error);
  });
  // As `createDynamoDb` of lambda/adapters/dynamodb, but without a connection, signatures and retries.
  const client = createLocalTableClient(engine, turns);
  try {
    const found = await ensureTable(client);
    return {
      client,
      tableName,
      origin: found === 'created' || repair === 'whole' ? found : repair,
      isDiskFull: () => engine.isDiskFull,
      close: () => engine.close(),
    };
  } catch (error) {
    await engine.close();
    throw error;
  }
}

async function ensureTable(client: LocalTableClient): Promise<'created' | 'found'> {
  if ((await tableStatus(client)) === 'ACTIVE') return 'found';
  await client.send('CreateTable', tableDefinition(tableName));
  const giveUpAtMs = performance.now() + tableWaitMs;
  while ((await tableStatus(client)) !== 'ACTIVE') {
    if (performance.now() > giveUpAtMs) throw new Error('The table did not become active.');
    await delay(10);
  }
  return 'created';
}

async function tableStatus(client: LocalTableClient): Promise<string | undefined> {
  try {
    const described = await client.send('DescribeTable', { TableName: tableName });
    return described.Table?.TableStatus;
  } catch (error) {
    if (error instanceof AwsServiceError && error.code === 'ResourceNotFoundException') return undefined;
    throw error;
  }
}

function openError(databasePath: string, error: unknown): StartupError {
  const cause = error instanceof Error && error.cause !== undefined ? error.cause : error;
  if (errorCode(cause) === 'LEVEL_LOCKED') {
    return new StartupError(
      `The database ${databasePath} is in use by another process. Stop that one first, or choose another folder with --data.`,
      { cause: error },
    );
  }
  if (isDiskFull(cause)) {
    return new StartupError(`The database ${databasePath} ${diskFullAdvice}`, { cause: error });
  }
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StartupError(
    `The database ${databasePath} cannot be opened (${reason}). Restore the data folder from a backup, or choose another folder with --data.`,
    { cause: error },
  );
}
