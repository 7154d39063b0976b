import { beforeEach, describe, expect, it } from 'vitest';
import { admitUpload } from '../../../../../lambda/core/ledger/admit-upload.ts';
import { requestFileDeletion } from '../../../../../lambda/core/ledger/empty-objects.ts';
import { reconcile } from '../../../../../lambda/core/ledger/reconcile.ts';
import { rangeAt, shardsInForce } from '../../../../../lambda/core/ledger/rules/shard.ts';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import { compareKeys } from '../../../../../lambda/core/rules/names.ts';
import { LargeRepoStack, repo } from '../../../../support/memory/large-repo-stack.ts';
import { minute, tenant } from '../../../../support/memory/stack.ts';
import { Random } from '../../../../support/random.ts';

const day = 24 * 60 * minute;
const shardObjectsMax = 400;

let stack: LargeRepoStack;

/** Most begin alike, as names do. Some look like oids, or have what separates names elsewhere. */
const nameOf = (index: number) =>
  [`users/${index % 9}/photo ${index}:1.jpg`, `ü/${index}`, index.toString(16).padStart(64, '0')][
    index % 3
  ] ?? '';
const named = (count: number, from = 0) => Array.from({ length: count }, (_, index) => nameOf(from + index));

const putAll = (names: readonly string[]) =>
  stack.put(Object.fromEntries(names.map((name) => [`${repo}/${name}`, 10])));

async function admitted(names: readonly string[]): Promise<void> {
  const outcome = await admitUpload(stack.deps, {
    tenant: await stack.record(),
    repo,
    objects: new Map(names.map((name) => [name, 10])),
    files: new Map(names.map((name) => [name, {}])),
  });
  const verdicts = outcome.kind === 'answered' ? [...outcome.verdicts.values()] : [];
  expect(verdicts.map(({ kind }) => kind)).toEqual(names.map(() => 'upload'));
}

/** What is counted of a repo of so many files of 10 bytes. */
async function isCounted(files: number): Promise<void> {
  const record = await stack.ledger.readRepo({ tenant, repo });
  expect(record).toMatchObject({ objectCount: files, storedBytes: 10 * files });
  expect(await stack.usage()).toEqual({ committedBytes: 10 * files, storedBytes: 10 * files });
}

async function shards() {
  const { large } = (await stack.ledger.readRepo({ tenant, repo })) ?? {};
  return shardsInForce(await stack.shards(), large ?? expect.fail()).inForce;
}

const createRepo = () => stack.ledger.createRepo({ tenant, repo, createdAtMs: stack.nowMs, kind: 'files' });

beforeEach(async () => {
  stack = new LargeRepoStack({ shardObjectsMax, listRequestsPerHour: 1_000_000 });
  await stack.create(1_000_000);
});

const count = 7000;

/** Files come and go, and all of it's counted. */
async function isExactAfterAnything(): Promise<void> {
  const random = new Random(7);
  const there = new Set(named(count));
  for (let round = 0; round < 12; round += 1) {
    const fresh = Array.from({ length: random.int(1, 9) }, (_, index) => `round ${round}/${index}`);
    await admitted(fresh);
    const arrived = fresh.filter(() => random.chance(0.7));
    putAll(arrived);
    for (const name of arrived) there.add(name);
    await stack.pass(random.pick([minute, 60 * minute, day]));
    const going = [...there].filter(() => random.chance(0.003));
    await requestFileDeletion(stack.deps, {
      tenant,
      repo,
      objects: new Map(going.map((name) => [name, 10])),
    });
    for (const name of going) there.delete(name);
    await stack.consume();
    await stack.pass(random.pick([0, 60 * minute]));
  }
  await stack.pass(3 * day);
  await isCounted(there.size);
  expect(await allPages(stack.ledger.reservations(tenant))).toEqual([]);
}

describe('a large repo that a scan found', () => {
  // Its shards stay those of hashes: one of them has most names, and is listed as a whole.
  it.each([
    ['all', undefined],
    ['none', true],
  ])('is exact once it is of files, with %s of its shards scanned', async (shards, isInitialScan) => {
    putAll(named(count));
    stack.nowMs += day;
    await (shards === 'all'
      ? stack.reconcile('manual', true)
      : reconcile(stack.deps, { tenant, full: true }));
    const found = await stack.ledger.readRepo({ tenant, repo });
    expect([found?.large !== undefined, found?.large?.isInitialScan]).toEqual([true, isInitialScan]);
    expect(await createRepo()).toBe('done');
    await stack.pass(60 * minute);
    await isCounted(count);
    await isExactAfterAnything();
  });
});

describe('a large repo of files', () => {
  beforeEach(async () => {
    await createRepo();
    putAll(named(count));
    stack.nowMs += day;
    await stack.reconcile('manual', true);
    await stack.pass(60 * minute);
  });

  it('has shards of names, none of them too large, and each has what is in its range', async () => {
    await isCounted(count);
    // What the first scan of a shard found is split in its next round.
    await stack.pass(8 * day);
    const inForce = await shards();
    const sizes = inForce.map(({ objectCount }) => objectCount);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(2 * shardObjectsMax);
    const names = named(count).sort(compareKeys);
    for (const [index, size] of sizes.entries()) {
      const { after, last } = rangeAt(inForce, index);
      const isIn = (name: string) =>
        (after === null || compareKeys(name, after) > 0) && (last === null || compareKeys(name, last) <= 0);
      expect(names.filter(isIn)).toHaveLength(size);
    }
  });

  it('is not listed for what comes and goes', async () => {
    const [first = '', second = ''] = named(2);
    const fresh = ['new file', 'users/1/new file'];
    await admitted(fresh);
    putAll(fresh);
    await requestFileDeletion(stack.deps, {
      tenant,
      repo,
      objects: new Map([
        [first, 10],
        [second, 10],
      ]),
    });
    await stack.consume();
    const [lists, heads] = await stack.reconcile();
    expect([lists, heads]).toEqual([0, 0]);
    await isCounted(count);
    // One that came a moment ago, too.
    await requestFileDeletion(stack.deps, { tenant, repo, objects: new Map([['new file', 10]]) });
    await stack.consume();
    await isCounted(count - 1);
  });

  it('has a file deleted that took the name of one that was deleted a moment ago', async () => {
    const [name = ''] = named(1);
    const objects = new Map([[name, 10]]);
    await stack.pass(3 * day);
    await requestFileDeletion(stack.deps, { tenant, repo, objects });
    await stack.consume();
    await admitted([name]);
    putAll([name]);
    await requestFileDeletion(stack.deps, { tenant, repo, objects });
    await stack.consume();
    await stack.pass(60 * minute);
    await isCounted(count - 1);
  });

  it('is split where it grows', async () => {
    const before = (await shards()).length;
    const more = Array.from({ length: 3000 }, (_, index) => `users/3/more/${index}`);
    putAll(more);
    await stack.pass(15 * day);
    await isCounted(count + more.length);
    const inForce = await shards();
    expect(inForce.length).toBeGreaterThan(before);
    expect(Math.max(...inForce.map(({ objectCount }) => objectCount))).toBeLessThanOrEqual(
      2 * shardObjectsMax,
    );
  });

  it('shows no empty objects, whether they replace a file, or an upload that was canceled or lapsed', async () => {
    const canceled = ['users/2/canceled', '!'];
    await admitted([...canceled, 'lapsed']);
    const objects = new Map(canceled.map((name) => [name, 10]));
    await requestFileDeletion(stack.deps, { tenant, repo, objects, onlyNew: true });
    await stack.consume();
    expect((await stack.usage()).committedBytes).toBe(10 * (count + 1));
    await stack.pass(12 * 60 * minute);
    expect((await allPages(stack.ledger.emptied({ tenant }))).flatMap(({ names }) => names)).toHaveLength(3);
    await isCounted(count);
    // When all is counted again, too, and when they are gone.
    for (const days of [8, 8]) {
      await stack.pass(days * day);
      await isCounted(count);
    }
    expect(await allPages(stack.ledger.emptied({ tenant }))).toEqual([]);
  });

  it('is exact after anything', isExactAfterAnything);
});
