import { beforeEach, describe, expect, it, vi } from 'vitest';
import * as z from 'zod';
import { deleteRepo } from '../../../../../lambda/core/ledger/deletes.ts';
import { LedgerUnavailableError } from '../../../../../lambda/core/rules/errors.ts';
import {
  createDynamoDbRepoMarks,
  type RepoMarks,
} from '../../../../../lambda/frame/access/repo-mark-store.ts';
import { createRepo, findRepo, overSettings, prepareMark } from '../../../../../lambda/frame/access/repos.ts';
import { isInForce, type RepoMark } from '../../../../../lambda/frame/access/rules/repo-mark.ts';
import { newTenant } from '../../../../support/ledger-records.ts';
import { ManualClock, memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryObjectStore } from '../../../../support/memory/object-store.ts';
import { MemoryStack, minute, oidOf, tenant } from '../../../../support/memory/stack.ts';
import { memoryTable } from '../../../../support/memory/table.ts';
import { setRepoLimit } from '../../../../support/over-settings.ts';
import { tenantRecord } from '../../../../support/tenant-record.ts';

const versions = [0, 1, 2, 3].map((settingsVersion) => tenantRecord({ settingsVersion }));
const [read, ...later] = versions;

describe('a change of settings', () => {
  let world: MemoryStack;
  beforeEach(() => {
    world = new MemoryStack();
  });
  const supersededBy = (count: number, tookMs: number) => {
    const tried: number[] = [];
    const change = overSettings(
      world.deps,
      { tenant: read ?? tenantRecord(), beganMs: world.nowMs },
      async (over) => {
        tried.push(over.settingsVersion);
        world.nowMs += tookMs;
        const tenant = later[tried.length - 1];
        return tenant && tried.length <= count ? { kind: 'superseded', tenant } : { kind: 'changed', over };
      },
    );
    return { tried, change };
  };

  it('is made over what was read', async () => {
    const { tried, change } = supersededBy(0, 1);
    expect(await change).toEqual({ kind: 'changed', over: read });
    expect(tried).toEqual([0]);
  });

  it('is made over what others have changed meanwhile', async () => {
    const { tried, change } = supersededBy(3, 1);
    expect(await change).toEqual({ kind: 'changed', over: later[2] });
    expect(tried).toEqual([0, 1, 2, 3]);
  });

  it('is given up when nobody waits for the answer any more', async () => {
    const { tried, change } = supersededBy(3, world.deps.settings.batchTimeLimitMs / 2);
    await expect(change).rejects.toThrow(LedgerUnavailableError);
    await expect(change).rejects.toThrow('The settings of acme changed at the same time.');
    expect(tried).toEqual([0, 1]);
  });
});

const path = { tenant: 'acme', repo: 'game' };
const marksMax = 3;

interface Ceiling extends RepoMark {
  readonly monthlyLimitBytes: number;
}
/** Of no subject. */
const newMarks = (): RepoMarks<Ceiling> =>
  createDynamoDbRepoMarks<Ceiling>(memoryTable(), {
    partition: (tenant) => `CEILINGS#${tenant}`,
    field: 'ceiling',
    fields: z.object({ monthlyLimitBytes: z.number(), sinceMs: z.number() }),
    listedMax: 2 * marksMax,
  });
const objectKey = `acme/game/${'a'.repeat(64)}`;

async function setUp() {
  const [objects, clock] = [new MemoryObjectStore(), new ManualClock()];
  objects.put(objectKey, 10);
  const deps = memoryDeps({ objects, clock });
  await deps.ledger.createTenant(newTenant('acme'));
  const tenant = async () => (await deps.ledger.readTenant('acme')) ?? tenantRecord();
  const marks = newMarks();
  const kind = { marks, marksMax };
  /** @param monthlyLimitBytes of what is made public. null: it is ended. */
  const prepare = async (monthlyLimitBytes: number | null, repo = 'game') =>
    prepareMark(deps, kind, {
      tenant: await tenant(),
      repo,
      to: monthlyLimitBytes === null ? null : { monthlyLimitBytes },
    });
  const change = async (monthlyLimitBytes: number | null, repo = 'game') => {
    const prepared = await prepare(monthlyLimitBytes, repo);
    if (prepared.kind !== 'ready') return prepared;
    const { before, after } = prepared;
    await prepared.write();
    return { kind: 'changed', before, after };
  };
  return { deps, clock, marks, prepare, change, found: () => marks.find(path) };
}

describe('a repo', () => {
  it('is marked, otherwise, and no longer; each tells what it was before', async () => {
    const { clock, change, found } = await setUp();
    const first = { repo: 'game', monthlyLimitBytes: 100, sinceMs: clock.nowMs() };
    expect(await change(100)).toEqual({ kind: 'changed', before: undefined, after: first });
    expect(await found()).toEqual(first);
    clock.advance(5);
    const second = { repo: 'game', monthlyLimitBytes: 0, sinceMs: clock.nowMs() };
    expect(await change(0)).toEqual({ kind: 'changed', before: first, after: second });
    expect(await found()).toEqual(second);
    expect(await change(null)).toEqual({ kind: 'changed', before: second, after: undefined });
    expect(await found()).toBeUndefined();
    expect(await change(null)).toEqual({ kind: 'no-repo' });
  });

  it('is not marked until that is written', async () => {
    const { prepare, change, found } = await setUp();
    expect(await prepare(100)).toMatchObject({ kind: 'ready' });
    expect(await found()).toBeUndefined();
    await change(100);
    expect(await prepare(null)).toMatchObject({ kind: 'ready', after: undefined });
    expect(await found()).toBeDefined();
  });

  it('that has no mark needs no write to lose it', async () => {
    const { deps, marks, change } = await setUp();
    await deps.ledger.createRepo({ ...path, createdAtMs: 1 });
    const end = vi.spyOn(marks, 'end');
    expect(await change(null)).toEqual({ kind: 'changed', before: undefined, after: undefined });
    expect(end).not.toHaveBeenCalled();
  });

  it('that is marked anew in the same millisecond is marked anew all the same', async () => {
    const { clock, change, found } = await setUp();
    await change(100);
    await change(100);
    expect((await found())?.sinceMs).toBe(clock.nowMs() + 1);
  });

  it('that has nothing in it, or is misspelt, is not marked, and one that was created is', async () => {
    const { deps, clock, marks, change } = await setUp();
    expect(await change(100, 'gmae')).toEqual({ kind: 'no-repo' });
    expect(await change(null, 'gmae')).toEqual({ kind: 'no-repo' });
    expect(await marks.list('acme')).toEqual([]);
    await deps.ledger.createRepo({ tenant: 'acme', repo: 'gmae', createdAtMs: clock.nowMs() });
    expect(await change(100, 'gmae')).toMatchObject({ kind: 'changed' });
    expect(await change(null, 'gmae')).toMatchObject({ kind: 'changed', after: undefined });
    expect(await change(null, 'gmae')).toEqual({ kind: 'changed', before: undefined, after: undefined });
  });

  it('that has a limit is there, as for who changes that', async () => {
    const { deps, change } = await setUp();
    await deps.ledger.markDirty({ tenant: 'acme', repo: 'art', dirtyToken: 'changed' });
    expect(await change(100, 'art')).toEqual({ kind: 'no-repo' });
    await setRepoLimit(deps.ledger, { tenant: 'acme', repo: 'art', limitBytes: 5 });
    expect(await change(100, 'art')).toMatchObject({ kind: 'changed' });
  });

  it('that the ledger has counted is not listed for that', async () => {
    const { deps, change } = await setUp();
    const lists = vi.spyOn(deps.listing, 'listPage');
    await deps.ledger.createRepo({ ...path, createdAtMs: 1 });
    expect(await change(100)).toMatchObject({ kind: 'changed' });
    expect(lists).not.toHaveBeenCalled();
  });

  it('that is empty stays marked, and that can be changed', async () => {
    const { deps, change, found } = await setUp();
    await change(100);
    await deps.store.delete([objectKey], { deadlineMs: Number.MAX_SAFE_INTEGER });
    expect(await change(50)).toMatchObject({ kind: 'changed', before: { monthlyLimitBytes: 100 } });
    expect(await found()).toMatchObject({ monthlyLimitBytes: 50 });
  });

  it('that is being deleted is not marked, and a mark of before counts no more, and can be ended', async () => {
    const { deps, clock, change, found } = await setUp();
    await change(100);
    clock.advance(1);
    await deps.ledger.closeRepo({ ...path, closedAtMs: clock.nowMs() });
    expect(await change(50)).toEqual({ kind: 'repo-closed' });
    expect(await change(null)).toEqual({ kind: 'changed', before: undefined, after: undefined });
    expect(await found()).toBeUndefined();
    await deps.ledger.openRepo({ ...path, closedAtMs: clock.nowMs() });
    clock.advance(1);
    expect(await change(50)).toMatchObject({ kind: 'changed', before: undefined });
  });

  it('that is deleted while it is marked is not marked once it is opened again', async () => {
    const { deps, clock, marks, change, found } = await setUp();
    const put = marks.put.bind(marks);
    marks.put = async (input) => {
      clock.advance(1000);
      await deps.ledger.closeRepo({ ...path, closedAtMs: clock.nowMs() });
      await deps.ledger.openRepo({ ...path, closedAtMs: clock.nowMs() });
      clock.advance(1000);
      await put(input);
    };
    expect(await change(100)).toMatchObject({ kind: 'changed' });
    const mark = await found();
    expect(mark).toBeDefined();
    expect(mark && isInForce(mark, await deps.ledger.readRepo(path))).toBe(false);
  });

  it('is marked up to as many as a tenant may have; one that is can be changed', async () => {
    const { marks, change } = await setUp();
    const other = (repo: string) =>
      marks.put({ tenant: 'acme', mark: { repo, monthlyLimitBytes: 1, sinceMs: 1 } });
    for (const repo of ['r1', 'r2']) await other(repo);
    expect(await change(100)).toMatchObject({ kind: 'changed' });
    await other('r3');
    expect(await change(200)).toMatchObject({ kind: 'changed' });
    await change(null);
    expect(await change(100)).toEqual({ kind: 'full' });
    expect(await change(null)).toEqual({ kind: 'no-repo' });
  });
});

describe('a repo that is created', () => {
  let world: MemoryStack;
  const create = async (repo: string, limitBytes?: number | null) =>
    createRepo(world.deps, {
      tenant: await world.record(),
      beganMs: world.nowMs,
      repo,
      limitBytes,
    });
  const find = async (repo: string) => findRepo(world.deps, { tenant: await world.record(), repo });

  beforeEach(async () => {
    world = new MemoryStack();
    await world.create(1000);
  });

  it('is there with nothing in it', async () => {
    expect(await find('app')).toBeUndefined();
    expect(await create('app')).toMatchObject({ kind: 'created', record: { repo: 'app', objectCount: 0 } });
    expect(await find('app')).toMatchObject({ repo: 'app', createdAtMs: world.nowMs });
    expect((await world.record()).repoLimits.size).toBe(0);
  });

  it('has its limit from the beginning', async () => {
    const outcome = await create('app', 5);
    expect(outcome.kind === 'created' && outcome.tenant.repoLimits.get('app')?.limitBytes).toBe(5);
  });

  it('exists already if it was created or has objects', async () => {
    await create('app');
    expect(await create('app', 5)).toEqual({ kind: 'exists' });
    expect((await world.record()).repoLimits.size).toBe(0);
    world.put({ [`web/${oidOf(1)}`]: 1 });
    await world.consume({ full: true });
    expect(await create('web')).toEqual({ kind: 'exists' });
  });

  it('is not there any more once it was deleted, until it is created again', async () => {
    await create('app');
    await deleteRepo(world.deps, { tenant, repo: 'app', dryRun: false });
    expect(await create('app')).toEqual({ kind: 'closed' });
    expect(await find('app')).toMatchObject({ repo: 'app' });
    await world.pass(60 * minute);
    expect(await find('app')).toBeUndefined();
    expect(await create('app')).toMatchObject({ kind: 'created' });
  });

  it('is found without being created if objects of it are in the bucket', async () => {
    world.put({ [`web/${oidOf(1)}`]: 1 });
    expect(await find('web')).toMatchObject({ repo: 'web', epoch: 0 });
    expect(await find('we')).toBeUndefined();
  });

  it('is not limited if as many as may be are', async () => {
    for (let index = 0; index < 50; index += 1) await create(`r${index}`, 5);
    expect(await create('one-more', 5)).toEqual({ kind: 'too-many' });
    expect(await create('one-more')).toMatchObject({ kind: 'created' });
  });

  it('is told of a delete of its name that began meanwhile', async () => {
    const { ledger } = world;
    const { readRepo } = ledger;
    ledger.readRepo = async (path) => {
      const found = await readRepo.call(ledger, path);
      await ledger.closeRepo({ ...path, closedAtMs: world.nowMs });
      return found;
    };
    expect(await create('app')).toEqual({ kind: 'closed' });
  });

  it('that the ledger loses is an error', async () => {
    world.ledger.readRepo = async () => undefined;
    await expect(create('app')).rejects.toThrow(`The repo ${tenant}/app vanished`);
  });
});

describe('a repo', () => {
  let world: MemoryStack;
  const find = async (repo: string) => findRepo(world.deps, { tenant: await world.record(), repo });

  beforeEach(async () => {
    world = new MemoryStack();
    await world.create();
  });

  it('is found if it was created', async () => {
    await world.ledger.createRepo({ tenant, repo: 'app', createdAtMs: 5 });
    expect(await find('app')).toMatchObject({ repo: 'app', createdAtMs: 5 });
  });

  it('is found in the bucket before it is counted, by its whole name', async () => {
    world.put({ [`web/${oidOf(1)}`]: 1 });
    expect(await find('web')).toMatchObject({ repo: 'web', epoch: 0 });
    expect(await find('we')).toBeUndefined();
    // What the ledger has of it is kept.
    await world.ledger.markDirty({ tenant, repo: 'web', dirtyToken: 'changed' });
    expect(await find('web')).toMatchObject({ dirtyToken: 'changed' });
  });

  it('is found while it is being deleted, or has a limit', async () => {
    await world.ledger.closeRepo({ tenant, repo: 'old', closedAtMs: 5 });
    expect(await find('old')).toMatchObject({ closedAtMs: 5 });
    await world.ledger.markDirty({ tenant, repo: 'limited', dirtyToken: 'changed' });
    expect(await find('limited')).toBeUndefined();
    await setRepoLimit(world.ledger, { tenant, repo: 'limited', limitBytes: 5 });
    expect(await find('limited')).toMatchObject({ repo: 'limited' });
  });
});
