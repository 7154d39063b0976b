import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDynamoDbLedger } from '../../../../lambda/adapters/dynamodb/ledger.ts';
import { newDeletion } from '../../../../lambda/domain/deletion.ts';
import type { Ledger } from '../../../../lambda/ports/ledger.ts';
import { allPages } from '../../../../lambda/use-cases/all-pages.ts';
import { openDataFolder } from '../../../../local/data/data-folder.ts';
import { type Database, openDatabase } from '../../../../local/data/database.ts';
import { upgradeItems } from '../../../../local/data/upgrade-items.ts';
import { startEmbeddedStack } from '../../../../local/start.ts';
import { useTempFolders } from '../../../support/temp-folder.ts';

const tempFolder = useTempFolders();
const path = { tenant: 'acme', repo: 'app' };
const reservation = {
  id: 'r'.repeat(32),
  repo: 'app',
  state: 'issued',
  claims: new Map([['a'.repeat(64), 7]]),
  createdAtMs: 1,
  expiresAtMs: 2,
  deadAtMs: 9e15,
  lookAtMs: null,
} as const;
const deletion = newDeletion({
  id: 'd'.repeat(32),
  repo: 'app',
  objects: new Map([['b'.repeat(64), 8]]),
  dueAtMs: 9e15,
});

/** Gives an item the key that it had in format 1. */
async function age({ client, tableName: TableName }: Database, from: string, to: string): Promise<void> {
  const pk = 'TENANT#acme';
  const { Item } = await client.send('GetItem', { TableName, Key: { pk, sk: from } });
  if (!Item) throw new Error(`There is no ${from}.`);
  await client.send('DeleteItem', { TableName, Key: { pk, sk: from } });
  await client.send('PutItem', { TableName, Item: { ...Item, sk: to } });
}

/** A table with a reservation and a deletion of format 1, and a repo that is closed and so has no due time of theirs. */
async function writeFormat1(database: Database): Promise<Ledger> {
  const ledger = createDynamoDbLedger(database);
  await ledger.putReservation({ tenant: 'acme', reservation });
  await ledger.putDeletion({ tenant: 'acme', deletion });
  await ledger.closeRepo({ ...path, repo: 'closed', closedAtMs: 5 });
  await age(database, `RESERVATION#app#${reservation.id}`, `RESERVATION#${reservation.id}`);
  await age(database, `DELETION#app#${deletion.id}`, `DELETION#${deletion.id}`);
  return ledger;
}

describe('a table of format 1', () => {
  let database: Database;
  beforeEach(async () => {
    database = await openDatabase(join(tempFolder(), 'database'));
  });
  afterEach(() => database.close());

  it('is not found by repo, and can be after its upgrade; a second one finds nothing to do', async () => {
    const ledger = await writeFormat1(database);
    expect(await allPages(ledger.reservationsOf(path))).toEqual([]);
    expect(await allPages(ledger.deletionsOf(path))).toEqual([]);
    expect(await upgradeItems(database)).toBe(2);
    expect(await allPages(ledger.reservationsOf(path))).toEqual([reservation]);
    expect(await allPages(ledger.deletionsOf(path))).toEqual([deletion]);
    expect(await allPages(ledger.reservations('acme'))).toHaveLength(1);
    expect(await allPages(ledger.deletions('acme'))).toHaveLength(1);
    const { due } = await ledger.dueTenants({ untilMs: 5, tenantsMax: 9 });
    expect(due).toMatchObject([{ tenant: 'acme', full: false }]);
    expect(await upgradeItems(database)).toBe(0);
  });

  it('whose upgrade was killed between the new item and the old one is upgraded by the next start', async () => {
    const ledger = await writeFormat1(database);
    await ledger.putReservation({ tenant: 'acme', reservation });
    expect(await upgradeItems(database)).toBe(2);
    expect(await allPages(ledger.reservations('acme'))).toEqual([reservation]);
  });
});

it('a start upgrades a folder of format 1, says so, and the next start has nothing to say', async () => {
  const dataDir = tempFolder();
  writeFileSync(join(dataDir, 'format.json'), '{"format":1}');
  const database = await openDatabase(join(dataDir, 'database'));
  await writeFormat1(database);
  await database.close();
  const starts: string[][] = [];
  for (let start = 0; start < 2; start += 1) {
    const lines: string[] = [];
    starts.push(lines);
    const onProgress = (line: string) => void lines.push(line);
    await (await startEmbeddedStack({ port: 0, dataDir, createDemo: false, onProgress })).close();
  }
  const [first = [], second = []] = starts;
  expect(first).toContainEqual(
    'data folder upgraded from format 1 to 2 (2 reservations and deletions moved); ' +
      'an older release cannot use it any more',
  );
  expect(second.filter((line) => line.includes('upgraded'))).toEqual([]);
  const folder = await openDataFolder(dataDir);
  expect(folder.foundFormat).toBe(2);
  await folder.release();
});
