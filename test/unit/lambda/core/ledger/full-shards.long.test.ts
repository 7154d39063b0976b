import { beforeEach, describe, expect, it } from 'vitest';
import { countedNamesMax } from '../../../../../lambda/core/ledger/rules/shard.ts';
import { allPages } from '../../../../../lambda/core/rules/async.ts';
import type { ScanRest } from '../../../../../lambda/core/scan/rules/scan-plan.ts';
import { type LargeRepoStack, largeRepoStack, repo } from '../../../../support/memory/large-repo-stack.ts';
import { minute, tenant } from '../../../../support/memory/stack.ts';

const hour = 60 * minute;
const day = 24 * hour;

let stack: LargeRepoStack;

beforeEach(async () => {
  stack = await largeRepoStack();
});

describe('a shard that is full of names', () => {
  const sevens = (count: number) =>
    Array.from({ length: count }, (_, index) => `7${index.toString(16).padStart(6, '0')}`.padEnd(64, 'e'));
  const pushAll = async (oids: readonly string[]) => {
    for (let begin = 0; begin < oids.length; begin += 100)
      await stack.push(repo, Object.fromEntries(oids.slice(begin, begin + 100).map((oid) => [oid, 10])));
  };

  it('fits into an item, and the others count as claimed until there is room', async () => {
    const oids = sevens(countedNamesMax + 500);
    await pushAll(oids);
    await stack.send(oids);
    await stack.reconcile();
    const all = 600 + 10 * oids.length;
    expect(await stack.usage()).toEqual({ storedBytes: 600 + 10 * countedNamesMax, committedBytes: all });
    await stack.pass(6 * hour);
    expect(await stack.usage()).toEqual({ storedBytes: all, committedBytes: all });
    expect(await allPages(stack.ledger.reservations(tenant))).toEqual([]);
  });

  it('does not stay full because each push has a last object that finds no room', async () => {
    const oids = sevens(100 * Math.ceil(countedNamesMax / 99 + 1));
    const isLast = (_: string, index: number) => index % 100 === 99;
    await pushAll(oids);
    await stack.send(oids.filter((oid, index) => !isLast(oid, index)));
    await stack.reconcile();
    await stack.send(oids.filter(isLast));
    await stack.reconcile();
    const all = 600 + 10 * oids.length;
    expect((await stack.usage()).committedBytes).toBe(all);
    await stack.pass(2 * day);
    expect(await stack.usage()).toEqual({ storedBytes: all, committedBytes: all });
    expect(await allPages(stack.ledger.reservations(tenant))).toEqual([]);
  });
});

it('a shard is split up to four digits, of which there are 65,536', async () => {
  const found = { storedBytes: 1, objectCount: 1, seen: new Map(), recent: new Set<string>(), requests: 1 };
  const tooMany = { ranges: [{ after: 'fffff', last: null }], objectCount: 1000 } as unknown as ScanRest;
  // All names are in the last shard, however often that is split.
  stack.deps.scan.scan = async ({ requestsMax, resume }) =>
    requestsMax === 1 && resume?.ranges[0]?.last === null
      ? { kind: 'unfinished', requests: 1, rest: tooMany }
      : { kind: 'done', ...found };
  const { large: _, ...ordinary } = (await stack.ledger.readRepo({ tenant, repo })) ?? expect.fail();
  const { dirtyToken: dirtyTokenRead, closedAtMs: __, ...before } = ordinary;
  const epoch = before.epoch + 1;
  await stack.ledger.commitRepo({ tenant, repo: { ...before, epoch }, dirtyTokenRead });
  await stack.reconcile('manual', true);
  const shards = await stack.shards();
  expect(shards).toHaveLength(4 * 15 + 1);
  expect(shards.at(-1)).toMatchObject({ prefix: 'ffff', objectCount: 1 });
});
