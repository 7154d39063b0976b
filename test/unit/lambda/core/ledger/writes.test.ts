import { beforeEach, describe, expect, it } from 'vitest';
import { createDynamoDbLedger, type Ledger } from '../../../../../lambda/core/ledger/ledger.ts';
import { unscannedShard } from '../../../../../lambda/core/ledger/rules/shard.ts';
import { stored } from '../../../../../lambda/core/table/stored-names.ts';
import { FakeTable } from '../../../../support/fake-table.ts';
import { tenantCommit } from '../../../../support/ledger-records.ts';
import { unlimitedRepo } from '../../../../support/tenant-record.ts';

const tenant = 'acme';
const table = new FakeTable();
const ledger = createDynamoDbLedger({ client: table, tableName: 'ledger' });
const asked = () => table.asked();

const tenantItem = stored({
  tenant,
  createdAtMs: 1,
  committedBytes: 2,
  epoch: 3,
  appliedEpoch: 3,
  confirmedBaseBytes: 5,
  confirmedUntilMs: 6,
  deletedBytes: 0,
  intents: {},
  leaseUntilMs: 0,
  dueat: 11,
});
const scanned = { storedBytes: 1, objectCount: 1, scannedAtMs: 1 };

beforeEach(() => table.reset());

describe('a write that the table accepts', () => {
  const writes: readonly [name: keyof Ledger, write: (to: Ledger) => Promise<unknown>, answer: unknown][] = [
    [
      'updateTenant',
      (to) => to.updateTenant({ tenant, settingsVersion: 0, limitBytes: 5 }),
      { kind: 'changed', tenant: { committedBytes: 2 } },
    ],
    ['closeTenant', (to) => to.closeTenant({ tenant, closedAtMs: 5 }), { committedBytes: 2 }],
    [
      'addCommitted',
      (to) => to.addCommitted({ tenant, repo: unlimitedRepo, sumBytes: 1, limitBytes: 5 }),
      { kind: 'added' },
    ],
    [
      'beginReconcile',
      (to) => to.beginReconcile({ tenant, holder: 'h', nowMs: 1, leaseUntilMs: 2 }),
      { kind: 'begun', epoch: 4 },
    ],
    [
      'commitRepo',
      (to) =>
        to.commitRepo({
          tenant,
          repo: { ...scanned, repo: 'app', epoch: 3, covered: new Set(), putsUntilMs: 0 },
          dirtyTokenRead: null,
        }),
      'committed',
    ],
    ['startLargeRepo', (to) => to.startLargeRepo({ tenant, repo: 'app', epoch: 3 }), 'begun'],
    [
      'putShard',
      (to) =>
        to.putShard({ tenant, repo: 'app', shard: unscannedShard({ prefix: 'a' }, 3), epochRead: null }),
      'put',
    ],
    [
      'commitTenant',
      (to) => to.commitTenant(tenantCommit(tenant, 3)),
      { kind: 'committed', tenant: { committedBytes: 2 } },
    ],
  ];

  // A read after it could find the write of somebody else.
  it.each(writes)('by %s is one request, which answers all', async (_, write, answer) => {
    table.on('UpdateItem').resolves({ Attributes: tenantItem });
    expect({ answer: await write(ledger) }).toMatchObject({ answer });
    expect(asked()).toHaveLength(1);
  });
});
