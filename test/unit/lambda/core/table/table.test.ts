import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createDynamoDbLedger, type Ledger } from '../../../../../lambda/core/ledger/ledger.ts';
import { NewerFormatError } from '../../../../../lambda/core/rules/errors.ts';
import { knownFormat, tenantKey } from '../../../../../lambda/core/table/table.ts';
import { type Database, openDatabase } from '../../../../../local/data/database.ts';
import { newTenant } from '../../../../support/ledger-records.ts';
import { updateTenant } from '../../../../support/over-settings.ts';
import { unlimitedRepo } from '../../../../support/tenant-record.ts';

const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-format-'));
let serial = 0;
let tenant = '';
let database: Database;
let ledger: Ledger;

beforeAll(async () => {
  database = await openDatabase(join(folder, 'database'));
  ledger = createDynamoDbLedger(database);
});
afterAll(async () => {
  await database.close();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(async () => {
  serial += 1;
  tenant = `acme${serial}`;
  const scanned = { storedBytes: 5, objectCount: 1, scannedAtMs: 1 };
  await ledger.createTenant(newTenant(tenant, { limitBytes: 100, scanned }));
});

async function item(): Promise<unknown> {
  const { client, tableName: TableName } = database;
  return (await client.send('GetItem', { TableName, Key: tenantKey(tenant) })).Item;
}

/** What another version does: it sets the format, or takes it away. */
async function change(expression: string, format?: number): Promise<void> {
  await database.client.send('UpdateItem', {
    TableName: database.tableName,
    Key: tenantKey(tenant),
    UpdateExpression: expression,
    ExpressionAttributeNames: { '#format': 'format' },
    ...(format !== undefined && { ExpressionAttributeValues: { ':format': format } }),
  });
}

const add = () => ledger.addCommitted({ tenant, repo: unlimitedRepo, sumBytes: 1, limitBytes: 100 });
const begin = () => ledger.beginReconcile({ tenant, holder: 'h', nowMs: 10, leaseUntilMs: 20 });

describe("a tenant's item", () => {
  it('is written with its format', async () => {
    expect(await item()).toMatchObject({ format: knownFormat });
  });

  it('without a format, as versions before wrote it, is of format 1', async () => {
    await change('REMOVE #format');
    expect(await ledger.readTenant(tenant)).toMatchObject({ committedBytes: 5 });
    expect(await add()).toEqual({ kind: 'added' });
    expect(await begin()).toMatchObject({ kind: 'begun' });
  });

  // The last three write without reading first, as a request does that read the tenant before it was upgraded.
  const calls: readonly [name: keyof Ledger, call: () => Promise<unknown>][] = [
    ['readTenant', () => ledger.readTenant(tenant)],
    ['listTenants', () => ledger.listTenants({ pageSize: 100 })],
    ['updateTenant', () => updateTenant(ledger, { tenant, limitBytes: 7 })],
    ['closeTenant', () => ledger.closeTenant({ tenant, closedAtMs: 7 })],
    ['addCommitted', add],
    ['beginReconcile', begin],
  ];

  it.each(calls)('of a newer format is refused by %s, and not changed', async (_name, call) => {
    await change('SET #format = :format', knownFormat + 1);
    const before = await item();
    await expect(call()).rejects.toThrow(NewerFormatError);
    await expect(call()).rejects.toThrow(
      `Tenant ${tenant} was written by a newer version: its items have format 2, and this version knows none above 1. ` +
        'Deploy that version again.',
    );
    expect(await item()).toEqual(before);
    await change('SET #format = :format', knownFormat);
  });
});
