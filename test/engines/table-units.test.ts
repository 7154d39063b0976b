import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { TableCall } from '../../cost/operations.ts';
import { type TableSizes, unitsOfCall } from '../../cost/table-units.ts';
import { createDynamoDbKeptGrants } from '../../lambda/adapters/dynamodb/kept-grants.ts';
import { createDynamoDbLedger } from '../../lambda/adapters/dynamodb/ledger.ts';
import { createDynamoDbLocks } from '../../lambda/adapters/dynamodb/locks.ts';
import { createDynamoDbMappedRepos } from '../../lambda/adapters/dynamodb/mapped-repos.ts';
import type { TableClient } from '../../lambda/adapters/dynamodb/table-client.ts';
import { newCleanup, withSelection } from '../../lambda/domain/cleanup/cleanup.ts';
import { prefixText } from '../../lambda/domain/cleanup/prefixes.ts';
import { newDeletion } from '../../lambda/domain/deletion.ts';
import { sha256Hex } from '../../lambda/domain/hash.ts';
import { lockHashOf } from '../../lambda/domain/lock.ts';
import { allPages } from '../../lambda/use-cases/all-pages.ts';
import { unlimitedRepo } from '../support/tenant-record.ts';
import { dynamoDbLocal, type EngineTable, openEngineTable } from './dynamodb.ts';
import { describeOn } from './engine.ts';

const tenant = 'northwind-games';
const nowMs = 1_795_237_200_000;

describeOn(dynamoDbLocal, (url) => {
  let opened: EngineTable;
  let client: TableClient;
  let tableName: string;
  let unitsUsed = 0;

  beforeAll(async () => {
    opened = await openEngineTable(url);
    tableName = opened.table.tableName;
    client = {
      async send(operation, input) {
        const output = await opened.table.client.send(operation, {
          ...input,
          ReturnConsumedCapacity: 'INDEXES',
        });
        const { ConsumedCapacity } = output as Billed;
        // Of an index there is no Table.
        unitsUsed += ConsumedCapacity?.Table?.CapacityUnits ?? 0;
        return output;
      },
    };
  });

  afterAll(() => opened.close());

  /** The units that the table engine bills for a call. */
  async function billed(call: () => Promise<unknown>): Promise<number> {
    unitsUsed = 0;
    await call();
    return unitsUsed;
  }

  /** The units of the model, without writes to indexes. */
  function modelled(call: TableCall, sizes: Partial<TableSizes> = {}): number {
    const { reads, writes } = unitsOfCall(call, {
      claims: 1,
      reservations: 1,
      repos: 1,
      isFull: false,
      due: 0,
      ...sizes,
    });
    return reads + writes;
  }

  describe('the units that the table bills are those of the model', () => {
    it.each([1, 10, 20, 100])('with reservations of %i objects', async (claims) => {
      const ledger = createDynamoDbLedger({ client, tableName });
      const name = `${tenant}-${claims}`;
      const counted = { storedBytes: 0, objectCount: 0, countedAtMs: nowMs };
      const account = { tenant: name, plan: 'team', limitBytes: 5e12, createdAtMs: nowMs };
      await ledger.createTenant({ ...account, counted, dueAtMs: nowMs });
      const objects = new Map(
        Array.from({ length: claims }, (_, index) => [sha256Hex(`${index}`), 12_345_678 + index]),
      );
      const id = sha256Hex('a token').slice(0, 32);
      const times = { createdAtMs: nowMs, expiresAtMs: nowMs + 1, deadAtMs: nowMs + 2, lookAtMs: null };
      const reservation = { id, repo: 'app', state: 'pending', claims: objects, ...times } as const;
      const own = { tenant: name, repo: 'app', reservationId: id };

      expect(await billed(() => ledger.readTenant(name))).toBe(modelled('readTenant'));
      expect(await billed(() => ledger.readRepo({ tenant: name, repo: 'app' }))).toBe(modelled('readRepo'));
      expect(await billed(() => ledger.putReservation({ tenant: name, reservation }))).toBe(
        modelled('putReservation', { claims }),
      );
      expect(
        await billed(() =>
          ledger.addCommitted({ tenant: name, repo: unlimitedRepo, sumBytes: 1e9, limitBytes: 5e12 }),
        ),
      ).toBe(modelled('addCommitted'));
      expect(await billed(() => ledger.issueReservation({ ...own, claims: objects }))).toBe(
        modelled('issueReservation', { claims }),
      );
      expect(await billed(() => ledger.readReservation(own))).toBe(modelled('readReservation', { claims }));
      expect(await billed(() => allPages(ledger.reservations(name)))).toBe(
        modelled('reservations', { claims }),
      );

      const lease = { tenant: name, holder: 'holder', nowMs, leaseUntilMs: nowMs + 15_000 };
      expect(await billed(() => ledger.beginReconcile(lease))).toBe(modelled('beginReconcile'));
      const repo = {
        repo: 'app',
        ...counted,
        storedBytes: 5e9,
        epoch: 1,
        covered: new Set([id]),
        putsUntilMs: 1,
      };
      expect(await billed(() => ledger.commitRepo({ tenant: name, repo, dirtyTokenRead: null }))).toBe(
        modelled('commitRepo'),
      );
      expect(await billed(() => allPages(ledger.repos(name)))).toBe(modelled('repos'));
      const floor = {
        correctionBytes: 5,
        floorBaseBytes: 5e9,
        deletedBytesRead: 0,
        floorUntilMs: nowMs,
        listedUntilMs: nowMs,
        claimCorrection: claims,
        overtakenEpoch: 0,
        repoCount: 0,
        fullCountedAtMs: null,
        reservedUntilMs: nowMs,
        repoLimits: new Map(),
        lookAtMs: null,
      };
      const commit = { tenant: name, ...floor, counted, expiredNotes: [] };
      expect(await billed(() => ledger.commitTenant({ ...commit, epoch: 1, dueAtMs: nowMs + 9 }))).toBe(
        modelled('commitTenant', { isFull: true }),
      );
      await ledger.beginReconcile({ ...lease, nowMs: lease.leaseUntilMs });
      expect(await billed(() => ledger.commitTenant({ ...commit, epoch: 2, dueAtMs: nowMs + 9 }))).toBe(
        modelled('commitTenant'),
      );
      expect(await billed(() => ledger.deleteReservation(own))).toBe(
        modelled('deleteReservation', { claims }),
      );
    });
  });

  describe('the locks of a repo', () => {
    it('are read for one unit as long as there are ten', async () => {
      const locks = createDynamoDbLocks({ client, tableName });
      const at = { tenant, repo: 'app' };
      for (let index = 0; index < 10; index += 1) {
        const path = `Content/Characters/Hero/Textures/T_Hero_${index}.uasset`;
        const id = `${lockHashOf(path)}Kq3vT0xYb9Za`;
        const owner = { ownerId: 'user:ada@example.com', ownerName: 'ada@example.com' };
        await locks.take({ ...at, lock: { id, path, ...owner, lockedAtMs: nowMs } });
      }
      expect(await billed(() => locks.listPage({ ...at, pageSize: 1000 }))).toBe(modelled('listLocks'));
    });
  });

  describe('a clean-up', () => {
    const path = { tenant, repo: 'gc' };

    it('is billed for its item, what batches name, and each object that is gone', async () => {
      const ledger = createDynamoDbLedger({ client, tableName });
      const watch = { id: 'a'.repeat(16), openedAtMs: nowMs, untilMs: nowMs + 1 };
      expect(await billed(() => ledger.openWatch({ ...path, watch, nowMs }))).toBe(modelled('openWatch'));
      const sum = { objectCount: 1000, bytes: 5e9 };
      const largest = Array.from({ length: 10 }, (_, index) => ({
        oid: sha256Hex(`${index}`),
        sizeBytes: 1e9,
      }));
      const sums = { listed: sum, kept: sum, young: sum, inUse: sum, candidates: sum };
      const cleanup = withSelection(newCleanup({ repo: 'gc', watch }), {
        selection: { folder: 'b'.repeat(16), files: 1, seenAtMs: nowMs, largest, ...sums },
        nowMs,
      });
      const put = { tenant, cleanup, versionRead: null, writeId: 'c'.repeat(16) };
      expect(await billed(() => ledger.putCleanup(put))).toBe(modelled('putCleanup'));
      expect(await billed(() => ledger.readCleanup(path))).toBe(modelled('readCleanup'));
      for (const claims of [1, 20, 100]) {
        const names = Array.from({ length: claims }, (_, index) => sha256Hex(`${index}`));
        const note = { beganMs: nowMs, prefixes: prefixText(names) };
        const named = () =>
          ledger.noteSeen({ tenant, watch, noteId: sha256Hex(`${claims}`).slice(0, 32), note });
        expect(await billed(named)).toBe(modelled('noteSeen', { claims }));
      }
      const oids = [1, 2, 3].map((index) => sha256Hex(`gone ${index}`));
      expect(await billed(() => ledger.noteGone({ ...path, oids, atMs: nowMs }))).toBe(
        3 * modelled('noteGone'),
      );
      expect(await billed(() => ledger.closeWatch({ ...path, watch }))).toBe(modelled('closeWatch'));
    });

    it.each([1, 100, 250])('is billed for deletions of %i objects by their size', async (deleting) => {
      const ledger = createDynamoDbLedger({ client, tableName });
      const objects = new Map(
        Array.from({ length: deleting }, (_, index) => [sha256Hex(`${index}`), 12_345_678]),
      );
      const id = `gc-${'d'.repeat(16)}-0-${deleting}`;
      const sweep = { watchId: 'a'.repeat(16), seenFromMs: nowMs };
      const deletion = newDeletion({ id, repo: 'gc', objects, dueAtMs: nowMs, sweep });
      expect(await billed(() => ledger.putDeletion({ tenant, deletion }))).toBe(
        modelled('putDeletion', { deleting }),
      );
      const deadlineMs = nowMs + 60_000;
      const claimed = () => ledger.claimDeletion({ tenant, before: deletion, deadlineMs });
      expect(await billed(claimed)).toBe(modelled('claimDeletion', { deleting }));
      const ended = { deadlineMs, left: new Map(), dueAtMs: nowMs, keptUntilMs: nowMs + 120_000 };
      expect(await billed(() => ledger.endDeletion({ ...path, deletionId: id, ...ended }))).toBe(
        modelled('endDeletion', { deleting }),
      );
    });
  });

  describe('a person', () => {
    it('is billed for what a host said, by a read and a write, and for the mapping', async () => {
      const table = { client, tableName };
      const [mapped, kept] = [createDynamoDbMappedRepos(table), createDynamoDbKeptGrants(table)];
      const grant = { person: { id: 'github:12345678', login: 'ada-lovelace' }, access: 'write' } as const;
      const key = sha256Hex('token and repo');
      expect(await billed(() => kept.find(key))).toBe(modelled('findGrant'));
      expect(await billed(() => kept.keep({ key, grant, untilMs: nowMs }))).toBe(modelled('keepGrant'));
      expect(await billed(() => kept.find(key))).toBe(modelled('findGrant'));
      expect(await billed(() => mapped.find({ tenant, repo: 'app' }))).toBe(modelled('findMappedRepo'));
    });
  });

  describe('an index costs', () => {
    const sizes = { claims: 100, reservations: 1, repos: 1, isFull: false, due: 0 };
    const indexWrites = (call: TableCall, isFull = false) =>
      unitsOfCall(call, { ...sizes, isFull }).indexWrites;

    it('one write for a new or removed entry, two for a moved one, none otherwise', () => {
      expect(indexWrites('putReservation')).toBe(1);
      expect(indexWrites('issueReservation')).toBe(2);
      expect(indexWrites('deleteReservation')).toBe(1);
      expect(indexWrites('addCommitted')).toBe(0);
      expect(indexWrites('commitTenant')).toBe(0);
      expect(indexWrites('commitTenant', true)).toBe(2);
    });

    it('half a read unit for each of the 12 partitions that a run of the schedule queries', () => {
      expect(unitsOfCall('dueTenants', sizes).reads).toBe(6);
    });
  });
});

interface Billed {
  readonly ConsumedCapacity?: { readonly Table?: { readonly CapacityUnits?: number } };
}
