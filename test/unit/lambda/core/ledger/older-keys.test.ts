import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDynamoDbLedger, type Ledger } from '../../../../../lambda/core/ledger/ledger.ts';
import { newDeletion } from '../../../../../lambda/core/ledger/rules/deletion.ts';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import { type Database, openDatabase } from '../../../../../local/data/database.ts';
import { newTenant, reservation } from '../../../../support/ledger-records.ts';
import { useTempFolders } from '../../../../support/temp-folder.ts';

const tempFolder = useTempFolders();
const path = { tenant: 'acme', repo: 'app' };
const issued = reservation('r'.repeat(32), { state: 'issued', lapsedAtMs: 3 });
const deletion = newDeletion({
  id: 'd'.repeat(32),
  repo: 'app',
  objects: new Map([['b'.repeat(64), 8]]),
  dueAtMs: 4,
});

/** Gives an item the key that older versions wrote. */
async function age(
  { client, tableName: TableName }: Pick<Database, 'client' | 'tableName'>,
  from: string,
  to: string,
): Promise<void> {
  const pk = 'TENANT#acme';
  const { Item } = await client.send('GetItem', { TableName, Key: { pk, sk: from } });
  if (!Item) throw new Error(`There is no ${from}.`);
  await client.send('DeleteItem', { TableName, Key: { pk, sk: from } });
  await client.send('PutItem', { TableName, Item: { ...Item, sk: to } });
}

/** A tenant, a reservation and a deletion as older versions wrote them: the keys have no repo. */
async function writeOlder({ client, tableName: TableName }: Database): Promise<Ledger> {
  const database = { client, tableName: TableName };
  const ledger = createDynamoDbLedger(database);
  await ledger.createTenant(newTenant('acme'));
  const { Item = {} } = await client.send('GetItem', { TableName, Key: { pk: 'TENANT#acme', sk: 'TENANT' } });
  const { fullDueAtMs: _, ...older } = Item;
  await client.send('PutItem', { TableName, Item: older });
  await ledger.putReservation({ tenant: 'acme', reservation: issued });
  await ledger.putDeletion({ tenant: 'acme', deletion });
  await age(database, `RESERVATION#app#${issued.id}`, `RESERVATION#${issued.id}`);
  await age(database, `DELETION#app#${deletion.id}`, `DELETION#${deletion.id}`);
  return ledger;
}

describe('items whose keys have no repo', () => {
  let database: Database;
  beforeEach(async () => {
    database = await openDatabase(join(tempFolder(), 'database'));
  });
  afterEach(() => database.close());

  it('are found by repo, changed and deleted after the tenant was read, and leave nothing due', async () => {
    const ledger = await writeOlder(database);
    expect(await allPages(ledger.reservations('acme'))).toEqual([issued]);
    expect(await allPages(ledger.reservationsOf(path))).toEqual([issued]);
    const unconfirmed = { ...path, reservationId: issued.id, entries: issued.entries, lookAtMs: 5 };
    expect(await ledger.keepUnconfirmed(unconfirmed)).toBe('kept');
    expect(await ledger.deleteReservation(unconfirmed)).toBe('deleted');
    expect(await allPages(ledger.reservations('acme'))).toEqual([]);

    // A batch that began before has looked for marks by repo, and missed it: it is not claimed in the same run.
    expect(await allPages(ledger.deletions('acme'))).toEqual([]);
    expect(await allPages(ledger.deletionsOf(path))).toEqual([deletion]);
    expect((await ledger.dueTenants({ untilMs: 5, tenantsMax: 9 })).due).toMatchObject([{ tenant: 'acme' }]);
    const [before = deletion] = await allPages(ledger.deletions('acme'));
    expect(await ledger.claimDeletion({ tenant: 'acme', before, deadlineMs: 9 })).toMatchObject({
      kind: 'claimed',
    });
    const ended = { left: new Map<string, number>(), dueAtMs: 9, keptUntilMs: null };
    await ledger.endDeletion({ ...path, deletionId: deletion.id, deadlineMs: 9, ...ended });
    expect(await allPages(ledger.deletions('acme'))).toEqual([]);
    expect((await ledger.dueTenants({ untilMs: 8e15, tenantsMax: 9 })).due).toEqual([]);
  });

  it('are there once, if a read died after it had written them with the newer key', async () => {
    const ledger = await writeOlder(database);
    await ledger.putReservation({ tenant: 'acme', reservation: { ...issued, lookAtMs: 6 } });
    await allPages(ledger.reservations('acme'));
    expect(await allPages(ledger.reservations('acme'))).toEqual([{ ...issued, lookAtMs: 6 }]);
  });

  it('are dropped if they are deletions that batches could not find since the tenant was counted', async () => {
    const ledger = await writeOlder(database);
    const { client, tableName: TableName } = database;
    const Key = { pk: 'TENANT#acme', sk: 'TENANT' };
    const { Item } = await client.send('GetItem', { TableName, Key });
    await client.send('PutItem', { TableName, Item: { ...Item, fullDueAtMs: 9e15 } });
    expect(await allPages(ledger.deletions('acme'))).toEqual([]);
    expect(await allPages(ledger.deletions('acme'))).toEqual([]);
    await allPages(ledger.reservations('acme'));
    await ledger.deleteReservation({ ...path, reservationId: issued.id });
    expect((await ledger.dueTenants({ untilMs: 8e15, tenantsMax: 9 })).due).toEqual([]);
  });
});
