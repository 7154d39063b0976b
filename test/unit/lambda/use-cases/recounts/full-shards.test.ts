import { beforeEach, describe, expect, it } from 'vitest';
import { countedNamesMax } from '../../../../../lambda/domain/giant/shard.ts';
import { allPages } from '../../../../../lambda/use-cases/all-pages.ts';
import { type GiantStack, giantStack, repo } from '../../../../support/memory/giant-stack.ts';
import { minute, tenant } from '../../../../support/memory/stack.ts';

const hour = 60 * minute;
const day = 24 * hour;

let stack: GiantStack;

beforeEach(async () => {
  stack = await giantStack();
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
    await stack.recount();
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
    await stack.recount();
    await stack.send(oids.filter(isLast));
    await stack.recount();
    const all = 600 + 10 * oids.length;
    expect((await stack.usage()).committedBytes).toBe(all);
    await stack.pass(2 * day);
    expect(await stack.usage()).toEqual({ storedBytes: all, committedBytes: all });
    expect(await allPages(stack.ledger.reservations(tenant))).toEqual([]);
  });
});

it('a repo that becomes a giant has up to 65,536 shards', async () => {
  const record = await stack.ledger.readRepo({ tenant, repo });
  if (!record) throw new Error('It is there.');
  const { giant: _, ...ordinary } = record;
  const found = { storedBytes: 1, objectCount: 1, seen: new Map(), recent: new Set<string>(), requests: 1 };
  stack.deps.scan.scan = async () => ({ kind: 'done', ...found });
  const outcome = await stack.countGiants({ giants: [{ ...ordinary, objectCount: 1e9 }] });
  expect(outcome?.outcomes[0]?.scan.objectCount).toBe(65_536);
});
