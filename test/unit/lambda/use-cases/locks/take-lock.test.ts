import { expect, it } from 'vitest';
import { lockHashOf, lockIdPattern } from '../../../../../lambda/domain/lock.ts';
import { locksBeforePushMax, takeLock } from '../../../../../lambda/use-cases/locks/take-lock.ts';
import { memoryDeps } from '../../../../support/memory/deps.ts';
import { tokenRecord } from '../../../../support/token-record.ts';

const place = { tenant: 'acme', repo: 'game', isRepoKnown: true, path: 'a.bin' };

it('a lock has an id of its path, the owner of its token and the time', async () => {
  const deps = memoryDeps();
  const token = tokenRecord('secret', { tenant: 'acme', user: 'ada', label: 'laptop' });
  const outcome = await takeLock(deps, { ...place, token });
  const lock = {
    id: expect.stringMatching(lockIdPattern),
    path: 'a.bin',
    ownerId: 'user:ada',
    ownerName: 'ada',
    lockedAtMs: deps.clock.nowMs(),
  };
  expect(outcome).toEqual({ kind: 'taken', lock });
  expect(await deps.locks.find({ ...place, hash: lockHashOf('a.bin') })).toEqual(lock);
});

it('a lock that is held is shown, to its own owner as well, and another one has another id', async () => {
  const deps = memoryDeps();
  const token = tokenRecord('secret', { tenant: 'acme' });
  const first = await takeLock(deps, { ...place, token });
  if (first.kind !== 'taken') throw new Error(first.kind);
  expect(await takeLock(deps, { ...place, token })).toEqual({ kind: 'held', lock: first.lock });
  await deps.locks.release({ ...place, lockId: first.lock.id });
  const second = await takeLock(deps, { ...place, token });
  expect(second.kind === 'taken' && second.lock.id).not.toBe(first.lock.id);
});

it('a repo that was never pushed to gets no lock once its tenant has many', async () => {
  const deps = memoryDeps();
  const token = tokenRecord('secret', { tenant: 'acme' });
  const take = (index: number, isRepoKnown: boolean) =>
    takeLock(deps, { ...place, repo: `made-up-${index}`, isRepoKnown, token });
  for (let index = 0; index < locksBeforePushMax; index += 1)
    expect(await take(index, false)).toMatchObject({ kind: 'taken' });
  expect(await take(locksBeforePushMax, false)).toEqual({ kind: 'no-repo' });
  expect(await take(locksBeforePushMax, true)).toMatchObject({ kind: 'taken' });
  expect(await takeLock(deps, { ...place, tenant: 'other', isRepoKnown: false, token })).toMatchObject({
    kind: 'taken',
  });
});
