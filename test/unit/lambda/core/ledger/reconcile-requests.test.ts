import { beforeEach, describe, expect, it, vi } from 'vitest';
import { reconcile } from '../../../../../lambda/core/ledger/reconcile.ts';
import {
  decodeStoreEvents,
  recordStoreEvents,
  steerScan,
} from '../../../../../lambda/core/ledger/reconcile-requests.ts';
import type { StoreChange } from '../../../../../lambda/core/ledger/rules/reservation.ts';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import { defaultSettings } from '../../../../../lambda/core/rules/settings.ts';
import { createPathScan } from '../../../../../lambda/core/scan/path-scan.ts';
import { type LargeRepoStack, largeRepoStack, repo } from '../../../../support/memory/large-repo-stack.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';

const request = { tenant, reason: 'event', full: false };

const created = (world: MemoryStack, repo: string, name: string, sizeBytes: number): StoreChange => ({
  tenant,
  repo,
  name,
  sizeBytes,
  kind: 'created',
  atMs: world.nowMs,
});
const removed = (world: MemoryStack, repo: string, name: string): StoreChange => ({
  tenant,
  repo,
  name,
  kind: 'removed',
  atMs: world.nowMs,
});

const tell = (world: MemoryStack, ...changes: StoreChange[]) =>
  recordStoreEvents(world.deps, { tenant, changes });

const reservations = (world: MemoryStack) => allPages(world.ledger.reservations(tenant));

/** A tenant with one object in each of two repos, all counted. */
async function scanned(): Promise<MemoryStack> {
  const world = new MemoryStack();
  world.put({ [`app/${oidOf(1)}`]: 10, [`web/${oidOf(2)}`]: 20 });
  await world.create();
  world.nowMs += minute;
  return world;
}

describe('a message of the store', () => {
  const record = (eventName: string, key: string, size?: number) => ({
    eventName,
    eventTime: '2026-11-30T10:00:00.000Z',
    s3: { object: { key, size } },
  });
  const decode = (message: object, keyOf: (key: string) => string | undefined = (key) => key) =>
    decodeStoreEvents(JSON.stringify(message), keyOf);

  it('says what came and went in which repos', () => {
    const where = { tenant: 'acme', repo: 'app', atMs: Date.parse('2026-11-30T10:00:00Z') };
    const Records = [
      record('ObjectCreated:Put', 'acme/app/a+b%2B', 7),
      record('ObjectCreated:Copy', 'acme/app/c'),
      record('ObjectRemoved:Delete', 'acme/app/d', 9),
      record('ObjectCreated:Put', 'nowhere', 1),
      record('ObjectCreated:Put', 'hidden/app/e', 1),
    ];
    const keyOf = (key: string) => (key.startsWith('hidden/') ? undefined : key);
    expect(decode({ Records }, keyOf)).toEqual([
      { ...where, name: 'a b+', kind: 'created', sizeBytes: 7 },
      { ...where, name: 'c', kind: 'created', sizeBytes: 0 },
      { ...where, name: 'd', kind: 'removed' },
    ]);
  });

  it('that is a test says nothing, and what is no message is an error', () => {
    expect(decode({ Event: 's3:TestEvent' })).toEqual([]);
    expect(() => decode({ Event: 'other' })).toThrow();
    expect(() => decode({ Records: [record('ObjectCreated:Put', '%', 1)] })).toThrow(URIError);
  });
});

describe('an event of the store', () => {
  it('for an object that did not come through the API has it counted without a full scan', async () => {
    const world = await scanned();
    world.put({ [`app/${oidOf(3)}`]: 100 });
    expect(await tell(world, created(world, 'app', oidOf(3), 100))).toEqual({
      kind: 'requested',
      noted: ['app'],
    });
    expect(world.requests).toEqual([request]);
    world.nowMs += minute;
    await world.consume();
    expect((await world.record()).scanned).toMatchObject({ storedBytes: 130, objectCount: 3 });
    expect((await world.record()).committedBytes).toBe(130);
    expect(await reservations(world)).toEqual([]);
  });

  it('for a deleted object, for an unknown repo and for a deeper key has the change counted', async () => {
    const world = await scanned();
    await world.objects.delete([`${tenant}/web/${oidOf(2)}`]);
    world.put({ 'new/a/deep/file': 7 });
    const changes = [removed(world, 'web', oidOf(2)), created(world, 'new', 'a/deep/file', 7)];
    expect(await tell(world, ...changes)).toEqual({ kind: 'requested', noted: ['web', 'new'] });
    world.nowMs += minute;
    await world.consume();
    expect((await world.record()).scanned).toMatchObject({ storedBytes: 17, objectCount: 2 });
  });

  it('is found by the schedule if the request for its reconcile is lost', async () => {
    const world = await scanned();
    expect(await world.isDue()).toBe(false);
    await tell(world, removed(world, 'app', oidOf(1)));
    expect(await world.isDue()).toBe(true);
  });

  it('for an upload that a live reservation claims requests a reconcile, and writes nothing', async () => {
    const world = await scanned();
    await world.push('app', { [oidOf(4)]: 40 });
    world.requests.length = 0;
    const before = await reservations(world);
    world.put({ [`app/${oidOf(4)}`]: 40 });
    expect(await tell(world, created(world, 'app', oidOf(4), 40))).toEqual({ kind: 'requested', noted: [] });
    expect(world.requests).toEqual([request]);
    expect(await reservations(world)).toEqual(before);
    await world.consume();
    expect((await world.record()).scanned).toMatchObject({ storedBytes: 70 });
  });

  it.each([
    ['another size than was claimed', 'app', 41],
    ['the same name in another repo', 'web', 40],
  ])('for %s is noted', async (_, repo, sizeBytes) => {
    const world = await scanned();
    await world.push('app', { [oidOf(4)]: 40 });
    const outcome = await tell(world, created(world, repo, oidOf(4), sizeBytes));
    expect(outcome).toEqual({ kind: 'requested', noted: [repo] });
  });

  it('for an upload that only a pending reservation claims is noted: its URL was not handed out', async () => {
    const world = await scanned();
    const reservation = {
      id: 'r',
      repo: 'app',
      state: 'pending' as const,
      entries: new Map([[oidOf(4), 40]]),
      createdAtMs: world.nowMs,
      expiresAtMs: 9e15,
      lapsedAtMs: 9e15,
      lookAtMs: null,
    };
    await world.ledger.putReservation({ tenant, reservation });
    expect(await tell(world, created(world, 'app', oidOf(4), 40))).toMatchObject({ noted: ['app'] });
  });

  it('for an upload whose reservation is lapsed is noted', async () => {
    const world = await scanned();
    await world.push('app', { [oidOf(4)]: 40 });
    world.nowMs += 60 * minute;
    expect(await tell(world, created(world, 'app', oidOf(4), 40))).toMatchObject({ noted: ['app'] });
  });

  it('for a deleted object is noted, even if uploads into its repo are under way', async () => {
    const world = await scanned();
    await world.push('app', { [oidOf(4)]: 40 });
    expect(await tell(world, removed(world, 'app', oidOf(1)))).toMatchObject({ noted: ['app'] });
    expect(await tell(world, removed(world, 'app', oidOf(4)))).toMatchObject({ noted: ['app'] });
  });

  it('is noted if only some of the changes of its repo were expected, in one note', async () => {
    const world = await scanned();
    await world.push('app', { [oidOf(4)]: 40, [oidOf(5)]: 50 });
    const expected = created(world, 'app', oidOf(4), 40);
    const before = (await reservations(world)).length;
    expect(await tell(world, expected, created(world, 'app', oidOf(6), 40))).toMatchObject({
      noted: ['app'],
    });
    const notes = (await reservations(world)).filter(({ entries }) => entries.size === 0);
    expect([notes.length, before]).toEqual([1, 1]);
    expect(notes[0]?.id).toMatch(/^[0-9a-f]{32}$/);
    expect(await tell(world, expected, created(world, 'app', oidOf(5), 50))).toMatchObject({ noted: [] });
  });

  it('is logged with what was new', async () => {
    const world = await scanned();
    const logged = vi.spyOn(world.deps.log, 'info');
    const old = { ...removed(world, 'app', oidOf(1)), atMs: 0 };
    await tell(world, old, removed(world, 'app', oidOf(1)), removed(world, 'web', oidOf(2)));
    const fields = { tenant, events: 3, news: 2, noted: ['app', 'web'] };
    expect(logged.mock.calls).toEqual([['store changed', fields]]);
  });

  it('has reservations read only if it is new, and no further than needed', async () => {
    const world = await scanned();
    await world.push('app', { [oidOf(4)]: 40 });
    const pagesOf = world.ledger.reservationsOf;
    let pages = 0;
    world.ledger.reservationsOf = async function* (path) {
      for await (const page of pagesOf.call(world.ledger, path)) {
        for (const some of [page, []]) {
          pages += 1;
          yield some;
        }
      }
    };
    await tell(world, { ...created(world, 'app', oidOf(4), 40), atMs: 0 });
    expect(pages).toBe(0);
    await tell(world, created(world, 'app', oidOf(4), 40));
    expect(pages).toBe(1);
    await tell(world, created(world, 'app', oidOf(4), 41));
    expect(pages).toBe(3);
  });

  it('was seen by the last count of its repo, or of the whole tenant, whichever is newer', async () => {
    const world = await scanned();
    const { clockSkewMs } = defaultSettings;
    const kinds = async (scannedAtMs: number) => {
      const at = async (atMs: number) => (await tell(world, { ...removed(world, 'app', 'x'), atMs })).kind;
      return [await at(scannedAtMs - clockSkewMs), await at(scannedAtMs - clockSkewMs - 1)];
    };
    const fullAtMs = (await world.record()).fullScannedAtMs;
    expect(await kinds(fullAtMs)).toEqual(['requested', 'nothing-new']);
    await world.consume();
    const repo = await world.ledger.readRepo({ tenant, repo: 'app' });
    expect(repo?.scannedAtMs).toBe(fullAtMs + minute);
    expect(await kinds(fullAtMs + minute)).toEqual(['requested', 'nothing-new']);
    world.nowMs += minute;
    await world.consume({ full: true });
    expect(await kinds(world.nowMs)).toEqual(['requested', 'nothing-new']);
  });

  it('for a change that the last scan has seen does nothing, however late and often it is delivered', async () => {
    const world = await scanned();
    const unconfirmed = created(world, 'app', oidOf(1), 10);
    world.nowMs += minute;
    await world.consume({ full: true });
    expect(await tell(world, unconfirmed, unconfirmed)).toEqual({ kind: 'nothing-new' });
    expect(world.requests).toEqual([]);
    expect(await reservations(world)).toEqual([]);
  });

  it('for such a change is not noted, even if another repo has changed', async () => {
    const world = await scanned();
    const old = { ...removed(world, 'app', oidOf(1)), atMs: 0 };
    expect(await tell(world, old, removed(world, 'web', oidOf(2)))).toMatchObject({ noted: ['web'] });
  });

  it('closer to the last scan than clocks may differ is treated as new', async () => {
    const world = await scanned();
    const event = created(world, 'app', oidOf(1), 10);
    world.nowMs += defaultSettings.clockSkewMs;
    await world.consume({ full: true });
    expect(await tell(world, event)).toMatchObject({ noted: ['app'] });
  });

  it('for a tenant that does not exist or is being deleted leaves no trace', async () => {
    const world = new MemoryStack();
    expect(await tell(world, removed(world, 'app', oidOf(1)))).toEqual({ kind: 'absent' });
    await world.create();
    await world.ledger.closeTenant({ tenant, closedAtMs: world.nowMs });
    expect(await tell(world, removed(world, 'app', oidOf(1)))).toEqual({ kind: 'absent' });
    expect(await reservations(world)).toEqual([]);
    expect(world.requests).toEqual([]);
  });

  it('for a repo that is being emptied is dropped', async () => {
    const world = await scanned();
    await world.ledger.closeRepo({ tenant, repo: 'app', closedAtMs: world.nowMs });
    expect(await tell(world, removed(world, 'app', oidOf(1)))).toEqual({ kind: 'nothing-new' });
    expect(await tell(world, removed(world, 'app', oidOf(1)), removed(world, 'web', oidOf(2)))).toEqual({
      kind: 'requested',
      noted: ['web'],
    });
  });
});

describe('a constant stream of events', () => {
  it('does not keep a scan from being committed, and the next scan counts it', async () => {
    const world = await scanned();
    let arrived = 3;
    // With each page of a scan, an object arrives and the store reports it.
    const listing = {
      listFolders: world.objects.listFolders.bind(world.objects),
      listPage: async (page: Parameters<typeof world.objects.listPage>[0]) => {
        const found = await world.objects.listPage(page);
        arrived += 1;
        world.put({ [`app/${oidOf(arrived)}`]: 1 });
        await tell(world, created(world, 'app', oidOf(arrived), 1));
        return found;
      },
    };
    const { clock, settings } = world.deps;
    const deps = { ...world.deps, listing, scan: createPathScan({ listing, clock, settings }) };
    await tell(world, removed(world, 'app', oidOf(9)));
    for (let round = 0; round < 5; round += 1) {
      world.nowMs += minute;
      expect(await reconcile(deps, { tenant, full: false })).toMatchObject({ kind: 'committed' });
      // What arrived after its pages were read keeps the repo due.
      expect(await reservations(world)).toHaveLength(1);
    }
    world.nowMs += minute;
    await world.consume();
    expect((await world.record()).scanned).toMatchObject({ objectCount: world.objects.objectCount });
    expect(await reservations(world)).toEqual([]);
  });
});

describe('an event of an object in a large repo', () => {
  it('is news since its shards were scanned, although the large repo was counted after that', async () => {
    const world = await largeRepoStack();
    world.put({ [`small/${oidOf(1)}`]: 10 });
    await world.reconcile('manual', true);
    world.nowMs += minute;
    const change = (repo: string) => created(world, repo, oidOf(2), 10);
    const [inLargeRepo, inOther] = [change('app'), change('small')];
    world.nowMs += minute;
    for (const repo of ['app', 'small'])
      await world.ledger.markDirty({ tenant, repo, dirtyToken: 'removed-' });
    await world.reconcile();
    expect(await tell(world, inOther)).toEqual({ kind: 'nothing-new' });
    expect(await tell(world, inLargeRepo)).toEqual({ kind: 'requested', noted: ['app'] });
  });
});

let stack: LargeRepoStack;

beforeEach(async () => {
  stack = await largeRepoStack();
  stack.nowMs += minute;
});

const steer = (state: 'running' | 'paused' | 'cancelled', of = repo) =>
  steerScan(stack.deps, { tenant, repo: of, state });

it('a paused large repo has none of its shards scanned until it is resumed, which asks for a reconcile', async () => {
  expect(await steer('paused')).toMatchObject({ kind: 'changed', record: { scanPausedAtMs: stack.nowMs } });
  stack.nowMs += 8 * 24 * 60 * minute;
  expect((await stack.reconcile('manual', true))[0]).toBeLessThan(3);
  expect(stack.requests).toEqual([]);
  const resumed = await steer('running');
  expect(resumed.kind === 'changed' && resumed.record.scanPausedAtMs).toBeUndefined();
  expect(stack.requests).toEqual([{ tenant, reason: 'manual', full: false }]);
  expect((await stack.reconcile())[0]).toBeGreaterThanOrEqual(16);
});

it('a reconcile is given up, and a later one begins anew', async () => {
  await steer('paused');
  await stack.reconcile('manual', true);
  const before = await stack.ledger.readRepo({ tenant, repo });
  expect(before?.large?.progress).toMatchObject({ share: 0 });
  stack.nowMs += 1;
  expect(await steer('cancelled')).toMatchObject({ record: { scanCancelledAtMs: stack.nowMs } });
  await stack.reconcile();
  expect((await stack.ledger.readRepo({ tenant, repo }))?.large).toMatchObject({ rescanFromMs: 0 });
  stack.nowMs += minute;
  await stack.reconcile('manual', true);
  expect((await stack.ledger.readRepo({ tenant, repo }))?.large).toMatchObject({
    rescanFromMs: stack.nowMs,
  });
});

it('an initial scan cannot be given up, but paused', async () => {
  const {
    large: _,
    dirtyToken,
    closedAtMs: __,
    ...ordinary
  } = (await stack.ledger.readRepo({ tenant, repo })) ?? expect.fail('It is there.');
  const epoch = ordinary.epoch + 1;
  await stack.ledger.commitRepo({ tenant, repo: { ...ordinary, epoch }, dirtyTokenRead: dirtyToken });
  await stack.ledger.startLargeRepo({ tenant, repo, epoch: epoch + 1 });
  expect(await steer('cancelled')).toEqual({ kind: 'initial-scan' });
  expect(await steer('paused')).toMatchObject({ kind: 'changed' });
});

it('what is no large repo, or is none any more, has no count', async () => {
  for (const state of ['paused', 'cancelled'] as const)
    expect(await steer(state, 'other')).toEqual({ kind: 'not-large' });
  for (const isThere of [true, false]) {
    const record = await stack.ledger.readRepo({ tenant, repo });
    const { large: _, ...ordinary } = record ?? expect.fail('It is there.');
    vi.spyOn(stack.ledger, 'readRepo')
      .mockResolvedValueOnce(record)
      .mockResolvedValueOnce(isThere ? ordinary : undefined);
    expect(await steer('paused')).toEqual({ kind: 'not-large' });
  }
});

it('is steered over what others have made of it meanwhile', async () => {
  const outcomes = await Promise.all([steer('paused'), steer('cancelled')]);
  expect(outcomes).toMatchObject([{ kind: 'changed' }, { kind: 'changed' }]);
  expect(await stack.ledger.readRepo({ tenant, repo })).toMatchObject({
    scanPausedAtMs: stack.nowMs,
    scanCancelledAtMs: stack.nowMs,
    steeringVersion: 2,
  });
});

it('is given up when nobody waits for the answer any more', async () => {
  const tried = vi.spyOn(stack.ledger, 'steerScan').mockImplementation(async () => {
    stack.nowMs += stack.deps.settings.batchTimeLimitMs;
    return 'refused';
  });
  await expect(steer('paused')).rejects.toThrow('The scan of acme/app changed at the same time.');
  expect(tried).toHaveBeenCalledTimes(1);
});
