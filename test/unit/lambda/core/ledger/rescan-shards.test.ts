import { beforeEach, describe, expect, it, vi } from 'vitest';
import { reconcileNow } from '../../../../../lambda/core/ledger/reconcile-now.ts';
import type { ReconcileReason } from '../../../../../lambda/core/ledger/rules/reconcile-policy.ts';
import { runReconcile } from '../../../../../lambda/core/ledger/run-reconcile.ts';
import { type LargeRepoStack, largeRepoStack } from '../../../../support/memory/large-repo-stack.ts';
import { minute, tenant } from '../../../../support/memory/stack.ts';

const second = 1000;
const shardCount = 16;

let stack: LargeRepoStack;

beforeEach(async () => {
  stack = await largeRepoStack();
  stack.nowMs += minute;
});

/** @returns LIST requests of a reconcile from the queue. */
async function listsOf(reason: ReconcileReason, full: boolean, limitMs = 14 * minute): Promise<number> {
  const before = stack.lists;
  const request = { tenant, reason, full };
  await runReconcile(stack.deps, { request, deadlineMs: stack.nowMs + limitMs });
  return stack.lists - before;
}

describe('the shards of large repos are counted again', () => {
  it.each<[ReconcileReason, boolean, number]>([
    ['manual', true, shardCount],
    ['import', true, shardCount],
    ['manual', false, 0],
    ['import', false, 0],
    ['unfinished', true, 0],
    ['schedule', true, 0],
  ])('if somebody asks for all that is stored (%s, full: %s)', async (reason, full, expected) => {
    expect(await listsOf(reason, full)).toBe(expected);
  });

  it('each once, by as many reconciles of one run as it takes', async () => {
    stack = await largeRepoStack({ shardListsPerRun: 10 });
    stack.nowMs += minute;
    const fulls: boolean[] = [];
    const { commitTenant } = stack.ledger;
    vi.spyOn(stack.ledger, 'commitTenant').mockImplementation(async (commit) => {
      fulls.push(commit.fullScannedAtMs !== null);
      return commitTenant.call(stack.ledger, commit);
    });
    const sleep = vi.spyOn(stack.deps.clock, 'sleep');
    expect(await listsOf('manual', true)).toBe(shardCount);
    // The further ones list nothing else.
    expect(fulls).toEqual([true, false]);
    expect(sleep).not.toHaveBeenCalled();
  });

  it('as of before the ledger was read, however long that takes: claims of meanwhile were not looked for', async () => {
    const { ledger } = stack;
    const beganMs = stack.nowMs;
    const repos = ledger.repos.bind(ledger);
    const slow = vi.spyOn(ledger, 'repos').mockImplementation(async function* (name) {
      yield* repos(name);
      stack.nowMs += 30 * second;
    });
    const { outcomes } = await stack.scanLargeRepos({ isThorough: true });
    slow.mockRestore();
    expect(outcomes[0]?.count.shards.map(({ scannedAtMs }) => scannedAtMs)).toEqual(
      Array.from({ length: shardCount }, () => beganMs),
    );
  });

  it('by the next message, asked for as before, if the reconcile did not end', async () => {
    vi.spyOn(stack.ledger, 'commitTenant').mockResolvedValue({ kind: 'superseded' });
    for (const [reason, full] of [
      ['manual', true],
      ['import', true],
      ['import', false],
      ['upload', true],
    ] as const)
      await listsOf(reason, full);
    expect(stack.requests.map(({ reason, full }) => [reason, full])).toEqual([
      ['manual', true],
      ['import', true],
      ['unfinished', false],
      ['unfinished', true],
    ]);
  });
});

describe('a shard that becomes due soon, because of a delete', () => {
  /** One that may be scanned then. */
  const dueIn = async (waitMs: number) => {
    const { clockSkewMs } = stack.deps.settings;
    const untilMs = stack.nowMs + waitMs - 2 * clockSkewMs - 1;
    await stack.changeShard('0', { stale: { fromMs: stack.nowMs, untilMs, doubtBytes: 1 } });
  };
  /** @returns LISTs, and how long the run has waited. */
  const run = async (limitMs?: number) => {
    const beganMs = stack.nowMs;
    const lists = await listsOf('delete', false, limitMs);
    return [lists, stack.nowMs - beganMs];
  };

  it('is waited for up to 15 seconds', async () => {
    await dueIn(15 * second);
    expect(await run()).toEqual([1, 15 * second]);
    await dueIn(15 * second + 1);
    expect(await run()).toEqual([0, 0]);
  });

  it('is not waited for if less than 20 seconds would be left after that', async () => {
    await dueIn(10 * second);
    expect(await run(30 * second - 1)).toEqual([0, 0]);
    expect(await run(30 * second)).toEqual([1, 10 * second]);
  });
});

it('shards that are due have their turn, though somebody looks at the usage every 10 seconds', async () => {
  stack = await largeRepoStack({ reconcileRestMs: minute });
  stack.nowMs += 8 * 24 * 60 * minute;
  const dueMs = stack.nowMs;
  for (let looks = 1; looks <= 30; looks += 1) {
    stack.nowMs += 10 * second;
    const before = await stack.record();
    const looked = await reconcileNow(stack.deps, { before, full: true, deadlineMs: stack.nowMs + minute });
    expect(looked.kind).toBe('committed');
    for (const { reason, full } of stack.requests.splice(0)) await listsOf(reason, full);
    if (looks % 6 === 0 && (await stack.isDue())) await listsOf('schedule', false);
  }
  expect((await stack.shards()).filter(({ scannedAtMs }) => scannedAtMs < dueMs)).toEqual([]);
});
