import { beforeEach, expect, it, vi } from 'vitest';
import { steerCount } from '../../../../../lambda/use-cases/recounts/steer-count.ts';
import { type GiantStack, giantStack, repo } from '../../../../support/memory/giant-stack.ts';
import { minute, tenant } from '../../../../support/memory/stack.ts';

let stack: GiantStack;

beforeEach(async () => {
  stack = await giantStack();
  stack.nowMs += minute;
});

const steer = (state: 'running' | 'paused' | 'cancelled', of = repo) =>
  steerCount(stack.deps, { tenant, repo: of, state });

it('a paused giant has none of its shards scanned until it is resumed, which asks for a recount', async () => {
  expect(await steer('paused')).toMatchObject({ kind: 'changed', record: { countPausedAtMs: stack.nowMs } });
  stack.nowMs += 8 * 24 * 60 * minute;
  expect((await stack.recount('manual', true))[0]).toBeLessThan(3);
  expect(stack.requests).toEqual([]);
  const resumed = await steer('running');
  expect(resumed.kind === 'changed' && resumed.record.countPausedAtMs).toBeUndefined();
  expect(stack.requests).toEqual([{ tenant, reason: 'manual', full: false }]);
  expect((await stack.recount())[0]).toBeGreaterThanOrEqual(16);
});

it('a recount is given up, and a later one begins anew', async () => {
  await steer('paused');
  await stack.recount('manual', true);
  const before = await stack.ledger.readRepo({ tenant, repo });
  expect(before?.giant?.progress).toMatchObject({ share: 0 });
  stack.nowMs += 1;
  expect(await steer('cancelled')).toMatchObject({ record: { countCancelledAtMs: stack.nowMs } });
  await stack.recount();
  expect((await stack.ledger.readRepo({ tenant, repo }))?.giant).toMatchObject({ recountFromMs: 0 });
  stack.nowMs += minute;
  await stack.recount('manual', true);
  expect((await stack.ledger.readRepo({ tenant, repo }))?.giant).toMatchObject({
    recountFromMs: stack.nowMs,
  });
});

it('a first count cannot be given up, but paused', async () => {
  const {
    giant: _,
    dirtyToken,
    closedAtMs: __,
    ...ordinary
  } = (await stack.ledger.readRepo({ tenant, repo })) ?? expect.fail('It is there.');
  const epoch = ordinary.epoch + 1;
  await stack.ledger.commitRepo({ tenant, repo: { ...ordinary, epoch }, dirtyTokenRead: dirtyToken });
  await stack.ledger.beginGiant({ tenant, repo, epoch: epoch + 1 });
  expect(await steer('cancelled')).toEqual({ kind: 'first-count' });
  expect(await steer('paused')).toMatchObject({ kind: 'changed' });
});

it('what is no giant, or is none any more, has no count', async () => {
  for (const state of ['paused', 'cancelled'] as const)
    expect(await steer(state, 'other')).toEqual({ kind: 'no-giant' });
  for (const isThere of [true, false]) {
    const record = await stack.ledger.readRepo({ tenant, repo });
    const { giant: _, ...ordinary } = record ?? expect.fail('It is there.');
    vi.spyOn(stack.ledger, 'readRepo')
      .mockResolvedValueOnce(record)
      .mockResolvedValueOnce(isThere ? ordinary : undefined);
    expect(await steer('paused')).toEqual({ kind: 'no-giant' });
  }
});

it('is steered over what others have made of it meanwhile', async () => {
  const outcomes = await Promise.all([steer('paused'), steer('cancelled')]);
  expect(outcomes).toMatchObject([{ kind: 'changed' }, { kind: 'changed' }]);
  expect(await stack.ledger.readRepo({ tenant, repo })).toMatchObject({
    countPausedAtMs: stack.nowMs,
    countCancelledAtMs: stack.nowMs,
    steeringVersion: 2,
  });
});

it('is given up when nobody waits for the answer any more', async () => {
  const tried = vi.spyOn(stack.ledger, 'steerCount').mockImplementation(async () => {
    stack.nowMs += stack.deps.settings.batchTimeLimitMs;
    return 'refused';
  });
  await expect(steer('paused')).rejects.toThrow('Others steered the count of acme/app at the same time.');
  expect(tried).toHaveBeenCalledTimes(1);
});
