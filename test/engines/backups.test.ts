import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, it } from 'vitest';
import { createDynamoDbLedger } from '../../lambda/core/ledger/ledger.ts';
import { allPages } from '../../lambda/core/rules/async.ts';
import { fileText } from '../../local/backup/backup-file.ts';
import { restoreBackup } from '../../local/data/backups.ts';
import { openDatabase } from '../../local/data/database.ts';
import { useTempFolders } from '../support/temp-folder.ts';
import { dynamoDbLocal, type EngineTable, openEngineTable } from './dynamodb.ts';
import { describeOn } from './engine.ts';

const main = fileURLToPath(new URL('../../cli/main.ts', import.meta.url));
/** More than a page of a scan, and than many writes. */
const reservations = 400;
const entriesOfEach = 40;

describeOn(dynamoDbLocal, (url) => {
  const tempFolder = useTempFolders();
  const opened: EngineTable[] = [];
  const open = async () => {
    const made = await openEngineTable(url);
    opened.push(made);
    return made.table;
  };
  afterEach(() => Promise.all(opened.splice(0).map((table) => table.close())));

  async function run(...args: readonly string[]): Promise<{ code: number | null; err: string }> {
    const env = {
      PATH: process.env['PATH'],
      AWS_ENDPOINT_URL_DYNAMODB: url,
      AWS_ACCESS_KEY_ID: 'engine',
      AWS_SECRET_ACCESS_KEY: 'engine',
    };
    const child = spawn(process.execPath, ['--import', 'tsx', main, ...args], { env });
    let err = '';
    child.stderr.on('data', (chunk) => {
      err += String(chunk);
    });
    const code = await new Promise<number | null>((done) => child.on('close', done));
    return { code, err };
  }

  const oidOf = (index: number) => index.toString(16).padStart(64, '0');

  async function fill(reservationCount: number) {
    const table = await open();
    const ledger = createDynamoDbLedger(table);
    const scanned = { storedBytes: 5, objectCount: 1, scannedAtMs: 1 };
    const account = { plan: null, limitBytes: 100, createdAtMs: 1, dueAtMs: 1, scanned };
    for (const tenant of ['acme', 'lab']) await ledger.createTenant({ tenant, ...account });
    for (let index = 0; index < reservationCount; index += 50)
      await Promise.all(
        Array.from({ length: 50 }, (_, at) =>
          ledger.putReservation({
            tenant: 'acme',
            reservation: {
              id: `r${index + at}`,
              repo: 'app',
              state: 'pending',
              entries: new Map(Array.from({ length: entriesOfEach }, (__, of) => [oidOf(of), 1])),
              createdAtMs: 1,
              expiresAtMs: 2,
              lapsedAtMs: 3,
              lookAtMs: null,
            },
          }),
        ),
      );
    return table;
  }

  it('a table goes to a file, to another table, and to the folder of a server', {
    timeout: 120_000,
  }, async () => {
    const table = await fill(reservations);
    const file = join(tempFolder(), 'table.jsonl');
    expect(await run('table', 'backup', '--name', table.tableName, file)).toMatchObject({ code: 0 });
    const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
    expect(lines).toHaveLength(reservations + 4);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({ source: 'dynamodb' });

    const other = await open();
    const into = ['table', 'restore', file, '--name', other.tableName, '--uploads-from', 'now'];
    expect(await run(...into)).toMatchObject({ code: 0 });
    const data = join(tempFolder(), 'data');
    await restoreBackup(data, fileText(file), { nowMs: 5, uploadsFromMs: 6 });
    const database = await openDatabase(join(data, 'table'));
    try {
      for (const ledger of [createDynamoDbLedger(other), createDynamoDbLedger(database)]) {
        expect(await ledger.readTenant('acme')).toMatchObject({ limitBytes: 100, epoch: 1_000_000 });
        expect((await ledger.listTenants({ pageSize: 10 })).map(({ tenant }) => tenant)).toEqual([
          'acme',
          'lab',
        ]);
        expect(await allPages(ledger.reservations('acme'))).toHaveLength(reservations);
      }
    } finally {
      await database.close();
    }
    expect(await run(...into)).toMatchObject({
      code: 1,
      err: expect.stringContaining('has tenants already'),
    });
    expect(await run(...into, '--again')).toMatchObject({ code: 0 });
    const missing = await run('table', 'backup', '--name', 'no-table', file);
    expect(missing).toMatchObject({ code: 1, err: expect.stringContaining('ResourceNotFoundException') });
    expect(readFileSync(file, 'utf8').trimEnd().split('\n')).toHaveLength(reservations + 4);
  });

  it('a table that was restored by AWS is finished in place', { timeout: 60_000 }, async () => {
    const table = await fill(0);
    const before = await createDynamoDbLedger(table).readTenant('lab');
    expect(await run('table', 'finish', '--name', table.tableName)).toMatchObject({ code: 0 });
    const after = await createDynamoDbLedger(table).readTenant('lab');
    expect(after).toMatchObject({ epoch: 1_000_000, committedBytes: before?.committedBytes });
    const inMs = (after?.uploadsFromMs ?? 0) - Date.now();
    // An hour to deploy with it, and two for the URLs from before.
    expect(inMs / 3_600_000).toBeCloseTo(3.1, 0);
    const due = await createDynamoDbLedger(table).dueTenants({ untilMs: Date.now() + 1000, tenantsMax: 10 });
    expect(due.due.map(({ tenant, full }) => [tenant, full]).sort()).toContainEqual(['lab', true]);
  });
});
