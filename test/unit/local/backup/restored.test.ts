import { beforeEach, describe, expect, it } from 'vitest';
import { deleteRepo, markObject } from '../../../../lambda/core/ledger/deletes.ts';
import { repoSchema, tenantFields } from '../../../../lambda/core/ledger/rules/tenant.ts';
import { defaultSettings } from '../../../../lambda/core/rules/settings.ts';
import { stored } from '../../../../lambda/core/table/stored-names.ts';
import { byDueIndex } from '../../../../lambda/core/table/table.ts';
import { lastPutMs, restoredItem } from '../../../../local/backup/restored.ts';
import { backupOf, restored } from '../../../support/memory/restored-stack.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../support/memory/stack.ts';
import { sources } from '../../import-graph.ts';
import { fieldsOf } from '../../syntax.ts';

const hour = 60 * minute;

describe('a restored table', () => {
  let before: MemoryStack;
  const backup = () => backupOf(before);
  const copyObjects = async (to: MemoryStack) => {
    for (const key of await before.keys()) to.put({ [key]: 10 });
  };

  beforeEach(async () => {
    before = new MemoryStack();
    await before.create(100);
  });

  it('never lets in more than the limit, whatever lands by URLs that it does not know', async () => {
    await before.upload('app', { [oidOf(1)]: 10 });
    await before.consume();
    const items = backup();
    // Ninety bytes are promised after the backup, and the URL stays good in the restored world.
    await before.push('app', { [oidOf(2)]: 90 });
    const untilMs = lastPutMs(before.nowMs);
    const stack = restored(before, items, untilMs);
    await copyObjects(stack);
    await stack.consume({ full: true });
    expect(await stack.kinds('app', { [oidOf(3)]: 50 })).toBe('retry');
    stack.nowMs = untilMs;
    expect(await stack.kinds('app', { [oidOf(3)]: 50 })).toBe('retry');
    stack.put({ [`app/${oidOf(2)}`]: 90 });
    stack.nowMs += minute;
    await stack.consume({ full: true });
    expect(await stack.kinds('app', { [oidOf(3)]: 50 })).toBe('over-limit');
    expect(await stack.usage()).toEqual({ committedBytes: 100, storedBytes: 100 });
  });

  it('knows the uploads of before the backup', async () => {
    await before.push('app', { [oidOf(1)]: 60 });
    const stack = restored(before, backup(), before.nowMs);
    stack.nowMs += minute;
    await stack.consume({ full: true });
    expect(await stack.kinds('app', { [oidOf(2)]: 50 })).toBe('over-limit');
    expect(await stack.kinds('app', { [oidOf(2)]: 40 })).toBe('upload');
  });

  it('deletes nothing that was to be deleted before: not an object, not a repo', async () => {
    await before.upload('app', { [oidOf(1)]: 10 });
    await before.upload('old', { [oidOf(2)]: 10 });
    await before.consume();
    await markObject(before.deps, { tenant, repo: 'app', oid: oidOf(1), dryRun: false });
    await deleteRepo(before.deps, { tenant, repo: 'old', dryRun: false });
    expect(await before.deletions()).toHaveLength(1);
    const stack = restored(before, backup(), before.nowMs);
    await copyObjects(stack);
    for (let hours = 0; hours < 48; hours += 1) {
      stack.nowMs += hour;
      await stack.consume({ full: true });
    }
    expect(await stack.deletions()).toEqual([]);
    expect(await stack.keys()).toEqual([`app/${oidOf(1)}`, `old/${oidOf(2)}`]);
    expect((await stack.repo('old'))?.closedAtMs).toBe(null);
  });

  it('is due as soon as the schedule may count it, which drops what is due earlier', async () => {
    await before.upload('app', { [oidOf(1)]: 10 });
    await before.consume();
    const scannedAtMs = (await before.record()).scanned?.scannedAtMs ?? 0;
    expect(scannedAtMs).toBeGreaterThan(0);
    for (const laterMs of [0, hour]) {
      const nowMs = scannedAtMs + laterMs;
      const dueAts = backup().map(
        (item) => restoredItem(item, { nowMs, uploadsFromMs: nowMs })?.['fullDueAtMs'],
      );
      const dueAtMs = laterMs === 0 ? scannedAtMs + defaultSettings.reconcileRestMs : nowMs;
      expect(dueAts).toContain(dueAtMs);
    }
  });

  it('takes epochs that no reconcile of before can have', async () => {
    const { epoch } = await before.record();
    const stack = restored(before, backup(), before.nowMs);
    expect((await stack.record()).epoch).toBe(epoch + 1_000_000);
    // One of before, frozen since, commits nothing.
    expect(await stack.ledger.setLease({ tenant, epoch: epoch + 1, leaseUntilMs: 1 })).toBe('superseded');
  });

  describe('has of each attribute what is decided here', () => {
    const hold = { nowMs: 1, uploadsFromMs: 2 };
    /** An item with all of them. */
    const itemOf = (sk: string, names: readonly string[]) => ({
      pk: 'TENANT#acme',
      sk,
      ...stored(Object.fromEntries(names.map((name, index) => [name, 100 + index]))),
    });
    /** What becomes of each: it stays, goes, or is another value. */
    const become = (sk: string, names: readonly string[]) => {
      const item: Record<string, unknown> = itemOf(sk, names);
      const after = restoredItem(item, hold) ?? {};
      return Object.fromEntries(
        names.map((name) => {
          const [own = name] = Object.keys(stored({ [name]: 0 }));
          if (!(own in after)) return [name, 'goes'];
          return [name, after[own] === item[own] ? 'stays' : after[own]];
        }),
      );
    };
    const staying = (...names: string[]) => Object.fromEntries(names.map((name) => [name, 'stays']));

    it('of a repo, of which no closing, no gc run and no pause is known any more', () => {
      const index = [byDueIndex.pk, byDueIndex.sk];
      expect(become('REPO#app', [...Object.keys(repoSchema.shape), ...index])).toEqual({
        ...staying('repo', 'storedBytes', 'objectCount', 'scannedAtMs', 'epoch', 'dirtyToken', 'covered'),
        ...staying('putsUntilMs', 'points', 'large', 'tidyBelowEpoch', 'createdAtMs', 'storageClass'),
        ...staying(
          'kind',
          'isUnproven',
          'emptyFromMs',
          'endedClosingMs',
          'steeringVersion',
          'scanCancelledAtMs',
          'endedWatchMs',
        ),
        closedAtMs: 'goes',
        scanPausedAtMs: 'goes',
        watch: 'goes',
        [byDueIndex.pk]: 'goes',
        [byDueIndex.sk]: 'goes',
      });
    });

    it('of a tenant, which is counted before it takes anything', () => {
      const beside = fieldsOf('lambda/core/ledger/items.ts', 'tenantItem');
      expect(become('TENANT', [...Object.keys(tenantFields.shape), ...beside])).toEqual({
        ...staying('tenant', 'plan', 'limitBytes', 'downloadLimitBytes', 'reposMustExist', 'storageClass'),
        ...staying('suspended', 'suspendedMessage'),
        ...staying('createdAtMs', 'committedBytes', 'appliedEpoch', 'confirmedBaseBytes', 'deletedBytes'),
        ...staying('intents', 'storedBytes', 'objectCount', 'scannedAtMs', 'listedObjectCount', 'entryCount'),
        ...staying('entriesCounted', 'repoCount', 'unconfirmed', 'settingsVersion', 'overtakenEpoch'),
        ...staying('fullScannedAtMs', 'stepAtMs', 'oldBytes', 'reservedUntilMs', 'closedAtMs'),
        epoch: expect.any(Number),
        leaseUntilMs: 0,
        confirmedUntilMs: 0,
        listedUntilMs: 0,
        deletionCount: 0,
        uploadsFromMs: 2,
        fullDueAtMs: expect.any(Number),
        lookAtMs: null,
        shardsListedUntilMs: 'goes',
        shardLists: 'goes',
      });
    });
  });

  it('has each kind of items of a tenant but what was to be deleted, and all other items as they are', () => {
    const hold = { nowMs: 1, uploadsFromMs: 2 };
    // The comment names them all.
    const rows = [
      ...(sources.get('lambda/core/table/table.ts') ?? '').matchAll(
        /^ \* \| ([^|]+) \| ([^|]+) \| ([^|]+) \|/gm,
      ),
    ];
    const kinds = rows.slice(2).map((row) => row.slice(1).map((cell) => cell.trim()));
    const left = new Map<string, boolean>();
    for (const [kind = '', pk = '', sk = ''] of kinds) {
      const item = { pk, sk, tenant: 'acme', more: [1, { a: null }] };
      const after = restoredItem(item, hold);
      if (pk !== 'TENANT#{name}') expect([kind, after]).toEqual([kind, item]);
      else left.set(kind, after !== undefined);
    }
    expect(kinds.length).toBeGreaterThan(30);
    expect(Object.fromEntries(left)).toEqual({
      tenant: true,
      repo: true,
      reservation: true,
      deletion: false,
      'empty objects': true,
      'gc run': false,
    });
    expect(restoredItem({ pk: 'QUEUE#WEBHOOKS', sk: '1' }, hold)).toBe(undefined);
  });

  it('takes uploads two hours after, when the largest object is too large to land later', () => {
    const { urlLifetimeMs } = defaultSettings;
    expect(lastPutMs(0)).toBeGreaterThan(urlLifetimeMs + 5000 * 1000);
    expect(lastPutMs(0)).toBeLessThan(2.2 * hour);
  });
});
