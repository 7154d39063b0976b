import { beforeEach, describe, expect, it } from 'vitest';
import { lockOfAnother } from '../../../../../lambda/subjects/locks/lfs-messages.ts';
import {
  locksBeforePushMax,
  releaseLock,
  takeLock,
} from '../../../../../lambda/subjects/locks/lfs-routes.ts';
import { lockHashOf, lockIdPattern } from '../../../../../lambda/subjects/locks/rules/locks.ts';
import { memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryAuditLog } from '../../../../support/memory/stores.ts';
import { recordingLog } from '../../../../support/recording-log.ts';
import { tokenRecord } from '../../../../support/token-record.ts';

it('takes no second lock of a file whose lock has backslashes, as older versions stored it', async () => {
  const deps = memoryDeps();
  const place = { tenant: 'acme', repo: 'game' };
  const path = 'Content\\A.umap';
  const lock = {
    id: `${lockHashOf(path)}${'x'.repeat(12)}`,
    path,
    ownerId: 'user:ada',
    ownerName: 'ada',
    lockedAtMs: 1,
  };
  await deps.locks.take({ ...place, lock });
  const token = tokenRecord('bob', { tenant: 'acme', user: 'bob' });
  expect(await takeLock(deps, { ...place, isRepoKnown: true, path, token })).toMatchObject({
    kind: 'held',
    lock: { ownerName: 'ada' },
  });
});

describe('release lock', () => {
  const place = { tenant: 'acme', repo: 'game' };
  const tokenOf = (secret: string, user: string) => tokenRecord(secret, { tenant: 'acme', user });
  const [ada, alsoAda, bob] = [tokenOf('one', 'ada'), tokenOf('two', 'ada'), tokenOf('three', 'bob')];

  describe('a lock', () => {
    const { log, entries } = recordingLog();
    const audit = new MemoryAuditLog();
    const deps = memoryDeps({ log, audit });
    let lockId: string;
    let requests = 0;
    const release = (token: typeof ada, isForced = false) => {
      requests += 1;
      return releaseLock(deps, { ...place, lockId, isForced, token, requestId: `r${requests}` });
    };

    beforeEach(async () => {
      entries.length = 0;
      await deps.locks.releaseSome({ tenant: 'acme', locksMax: 10 });
      const taken = await takeLock(deps, { isRepoKnown: true, ...place, path: 'a.bin', token: ada });
      if (taken.kind !== 'taken') throw new Error(taken.kind);
      lockId = taken.lock.id;
    });

    it('is released by any token of its user, and nothing is logged', async () => {
      const before = audit.entries.length;
      expect(await release(alsoAda)).toMatchObject({ kind: 'released', lock: { id: lockId } });
      expect(await release(alsoAda)).toEqual({ kind: 'absent' });
      expect(entries).toEqual([]);
      expect(audit.entries).toHaveLength(before);
    });

    it('is not looked for by what is no id of a lock, not even by force', async () => {
      const locks = {
        ...deps.locks,
        release: () => Promise.reject(new Error('Nothing is to be looked for.')),
      };
      for (const isForced of [false, true])
        for (const none of ['', 'x', `${lockId}0`, `${lockId}/`]) {
          const input = { ...place, lockId: none, isForced, token: ada, requestId: 'r' };
          expect(await releaseLock({ ...deps, locks }, input)).toEqual({ kind: 'absent' });
        }
    });

    it('of another is released by force alone, and the log says by which token', async () => {
      expect(await release(bob)).toMatchObject({ kind: 'of-another', lock: { ownerName: 'ada' } });
      expect(entries).toEqual([]);
      expect(await release(bob, true)).toMatchObject({ kind: 'released', lock: { ownerName: 'ada' } });
      const fields = { ...place, lockId, tokenId: bob.tokenId };
      expect(entries).toMatchObject([
        { level: 'info', message: 'lock removed by force', fields },
        { level: 'info', message: 'audit', fields: { action: 'lock.force', outcome: 'succeeded' } },
      ]);
      expect(JSON.stringify(entries)).not.toContain('a.bin');
      expect(audit.entries.at(-1)).toMatchObject({
        tenant: 'acme',
        by: { kind: 'token', tokenId: bob.tokenId, name: 'bob' },
        action: 'lock.force',
        target: { repo: 'game', lockId },
        outcome: 'succeeded',
        before: { path: 'a.bin', owner: 'ada', ownerName: 'ada' },
        after: null,
      });
    });

    it('of one’s own is not taken away by force, and not audited', async () => {
      const before = audit.entries.length;
      expect(await release(ada, true)).toMatchObject({ kind: 'released' });
      expect([entries, audit.entries.length]).toEqual([[], before]);
    });

    it('that is gone is not taken away by force, and not audited', async () => {
      await release(ada);
      const before = audit.entries.length;
      expect(await release(bob, true)).toEqual({ kind: 'absent' });
      expect(audit.entries).toHaveLength(before);
    });

    it('that goes while it is taken away is audited as refused', async () => {
      const locks = Object.create(deps.locks);
      locks.release = async (input: Parameters<typeof deps.locks.release>[0]) => {
        if (input.ownerId === undefined) await release(ada);
        return deps.locks.release(input);
      };
      const input = { ...place, lockId, isForced: true, token: bob, requestId: 'z' };
      expect(await releaseLock({ ...deps, locks }, input)).toEqual({ kind: 'absent' });
      expect(audit.entries.at(-1)).toMatchObject({
        outcome: 'denied',
        reason: 'lock-not-found',
        before: null,
      });
    });

    it.each(['', '1', 'x'.repeat(52), `${'0'.repeat(40)}#`])('is none with the id %j', async (id) => {
      lockId = id;
      expect(await release(ada, true)).toEqual({ kind: 'absent' });
    });
  });
});

describe('take lock', () => {
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
    // Of a repo that is known, no lock is counted.
    for (let index = 1; index < locksBeforePushMax; index += 1)
      expect(await take(index, true)).toMatchObject({ kind: 'taken' });
    expect(await take(0, false)).toMatchObject({ kind: 'taken' });
    expect(await take(locksBeforePushMax, false)).toEqual({ kind: 'no-repo' });
    expect(await take(locksBeforePushMax, true)).toMatchObject({ kind: 'taken' });
    expect(await takeLock(deps, { ...place, tenant: 'other', isRepoKnown: false, token })).toMatchObject({
      kind: 'taken',
    });
  });
});

describe('a lock that an older version took of a path that is none today', () => {
  it.each(['Content\\A.umap', '../x', '/abs', 'a//b', './a', 'C:/Users/x', 'dir/'])(
    'is listed, found and released: %s',
    async (path) => {
      const deps = memoryDeps();
      const place = { tenant: 'acme', repo: 'game' };
      const token = tokenRecord('one', { tenant: 'acme', user: 'ada' });
      const id = `${lockHashOf(path)}${'x'.repeat(12)}`;
      const lock = { id, path, ownerId: 'user:ada', ownerName: 'ada', lockedAtMs: 1 };
      await deps.locks.take({ ...place, lock });
      expect((await deps.locks.listPage({ ...place, pageSize: 9 })).locks).toEqual([lock]);
      expect(await deps.locks.findFile({ ...place, path })).toEqual(lock);
      const request = { ...place, lockId: id, isForced: false, token, requestId: 'r' };
      expect(await releaseLock(deps, request)).toEqual({ kind: 'released', lock });
    },
  );
});

it('of another is told without control characters of its path or owner', () => {
  const lock = { ownerName: 'a\u202eda', path: 'x\u0007.psd', lockedAtMs: 0 };
  expect(lockOfAnother(lock)).toMatch(/^ada locked x\.psd on .* git lfs unlock --force x\.psd$/);
});
