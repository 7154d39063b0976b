import { describe, expect, it } from 'vitest';
import { createDynamoDbLocks, type Locks } from '../../../../lambda/subjects/locks/lock-store.ts';
import {
  type FileLock,
  lockHashOf,
  lockSliceOf,
  locksPerSliceMax,
} from '../../../../lambda/subjects/locks/rules/locks.ts';
import { onceOpen } from '../../../support/once-open.ts';
import { walk } from '../../../support/walk.ts';
import { type OpenTable, tenantName } from '../../ledger-context.ts';

const ada = { ownerId: 'user:ada', ownerName: 'ada' };
const bob = { ownerId: 'user:bob', ownerName: 'bob' };

let made = 0;
function lockOf(path: string, owner = ada): FileLock {
  made += 1;
  const id = `${lockHashOf(path)}${String(made).padStart(12, '0')}`;
  return { id, path, ...owner, lockedAtMs: 1_800_000_000_000 + made };
}

/** What every {@link Locks} must do. */
export function locksContract(table: OpenTable): void {
  describe('file locks', () => {
    const locks = onceOpen(async () => createDynamoDbLocks(await table()));
    const newRepo = () => ({ tenant: tenantName(), repo: 'game' });
    const take = async (at: { tenant: string; repo: string }, lock: FileLock) => {
      expect(await locks.take({ ...at, lock })).toEqual({ kind: 'taken' });
      return lock;
    };
    const all = (at: { tenant: string; repo: string }) => locks.listPage({ ...at, pageSize: 1000 });

    it('are found by their path as they were taken', async () => {
      const at = newRepo();
      const lock = await take(at, lockOf('art/ä b.bin'));
      expect(await locks.find({ ...at, hash: lockHashOf('art/ä b.bin') })).toEqual(lock);
      expect(await locks.hasAtLeast({ tenant: at.tenant, count: 1 })).toBe(true);
      expect(await locks.hasAtLeast({ tenant: at.tenant, count: 2 })).toBe(false);
      expect(await locks.find({ ...at, hash: lockHashOf('art/other.bin') })).toBeUndefined();
    });

    it('of one path are taken once, whoever tries again, and tell who has it', async () => {
      const at = newRepo();
      const lock = await take(at, lockOf('a.bin'));
      for (const again of [lockOf('a.bin', bob), lockOf('a.bin')])
        expect(await locks.take({ ...at, lock: again })).toEqual({ kind: 'held', lock });
      expect(await all(at)).toEqual({ locks: [lock], next: null });
    });

    it('of other repos and tenants are others', async () => {
      const at = newRepo();
      const places = [at, { ...at, repo: 'game2' }, { ...at, repo: 'gam' }, newRepo()];
      for (const place of places) await take(place, lockOf('a.bin'));
      for (const place of places) expect((await all(place)).locks).toHaveLength(1);
    });

    it('of one path are won by exactly one of 50 who try at the same time', async () => {
      const at = newRepo();
      const wanted = Array.from({ length: 50 }, (_, index) => lockOf('a.bin', index % 2 === 0 ? ada : bob));
      const outcomes = await Promise.all(wanted.map((lock) => locks.take({ ...at, lock })));
      const [winner] = wanted.filter((_, index) => outcomes[index]?.kind === 'taken');
      expect(outcomes.filter(({ kind }) => kind === 'taken')).toHaveLength(1);
      for (const outcome of outcomes)
        if (outcome.kind !== 'taken') expect(outcome).toEqual({ kind: 'held', lock: winner });
      expect((await all(at)).locks).toEqual([winner]);
    });

    it('are won by exactly one in each round, while 50 take and release at the same time', async () => {
      const at = newRepo();
      let held: string | undefined;
      let turns = 0;
      await Promise.all(
        Array.from({ length: 50 }, async () => {
          for (let attempt = 0; attempt < 3; attempt += 1) {
            const lock = lockOf('a.bin');
            if ((await locks.take({ ...at, lock })).kind !== 'taken') continue;
            expect(held, 'two have the lock').toBeUndefined();
            held = lock.id;
            await new Promise((resolve) => setTimeout(resolve, 1));
            expect(held, 'two have the lock').toBe(lock.id);
            held = undefined;
            expect(await locks.release({ ...at, lockId: lock.id })).toEqual({ kind: 'released', lock });
            turns += 1;
          }
        }),
      );
      expect(turns).toBeGreaterThan(0);
      expect((await all(at)).locks).toEqual([]);
    });

    it('are released once by their id, even if 50 try at the same time, and are free again', async () => {
      const at = newRepo();
      const lock = await take(at, lockOf('a.bin'));
      const outcomes = await Promise.all(
        Array.from({ length: 50 }, () => locks.release({ ...at, lockId: lock.id, ownerId: ada.ownerId })),
      );
      const released = outcomes.filter(({ kind }) => kind === 'released');
      expect(released).toEqual([{ kind: 'released', lock }]);
      expect(outcomes.filter(({ kind }) => kind === 'absent')).toHaveLength(49);
      expect(await locks.release({ ...at, lockId: lock.id })).toEqual({ kind: 'absent' });
      await take(at, lockOf('a.bin', bob));
    });

    it('are not released by the id of an earlier one', async () => {
      const at = newRepo();
      const before = await take(at, lockOf('a.bin'));
      await locks.release({ ...at, lockId: before.id });
      const now = await take(at, lockOf('a.bin'));
      for (const owner of [{}, { ownerId: ada.ownerId }])
        expect(await locks.release({ ...at, lockId: before.id, ...owner })).toEqual({ kind: 'absent' });
      expect((await all(at)).locks).toEqual([now]);
    });

    it('of others are released only if no owner is asked for', async () => {
      const at = newRepo();
      const lock = await take(at, lockOf('a.bin', bob));
      expect(await locks.release({ ...at, lockId: lock.id, ownerId: ada.ownerId })).toEqual({
        kind: 'of-another',
        lock,
      });
      expect(await locks.release({ ...at, lockId: lock.id })).toEqual({ kind: 'released', lock });
    });

    it('are not released by way of another repo', async () => {
      const at = newRepo();
      const lock = await take(at, lockOf('a.bin'));
      expect(await locks.release({ ...at, repo: 'other', lockId: lock.id })).toEqual({ kind: 'absent' });
      expect((await all(at)).locks).toEqual([lock]);
    });

    it('are listed in pages, each once, of all owners or of some', async () => {
      const at = newRepo();
      const taken = [];
      for (let index = 0; index < 9; index += 1)
        taken.push(await take(at, lockOf(`${index}.bin`, index % 3 === 0 ? bob : ada)));
      const sorted = taken.sort((a, b) => (a.id < b.id ? -1 : 1));
      for (const [ownerIds, wanted] of [
        [undefined, sorted],
        [[bob.ownerId, 'user:nobody'], sorted.filter(({ ownerName }) => ownerName === 'bob')],
        [['user:nobody'], []],
      ] as const) {
        const pages = await walk(async (after: string | undefined) => {
          const from = after !== undefined && { after };
          const page = await locks.listPage({ ...at, pageSize: 2, ...from, ...(ownerIds && { ownerIds }) });
          return [page.locks, page.next];
        });
        for (const page of pages) expect(page.length).toBeLessThanOrEqual(2);
        expect(pages.flat()).toEqual(wanted);
      }
      expect(await locks.listPage({ ...at, pageSize: 9 })).toMatchObject({ next: null });
      expect(await locks.listPage({ ...at, pageSize: 3, ownerIds: ['user:bob'] })).toMatchObject({
        next: null,
      });
    });

    it('are released some at a time, of one repo or of the tenant, of all owners or of some', async () => {
      const at = newRepo();
      const other = { ...at, repo: 'game2' };
      for (let index = 0; index < 20; index += 1)
        await take(at, lockOf(`${index}.bin`, index < 5 ? bob : ada));
      for (const path of ['a', 'b', 'c']) await take(other, lockOf(path, bob));
      const stranger = newRepo();
      await take(stranger, lockOf('a'));

      const release = async (input: Parameters<Locks['releaseSome']>[0]) => {
        const { count, hasMore } = await locks.releaseSome(input);
        return [count, hasMore];
      };
      const ofBob = { ...at, ownerIds: ['user:bob'], locksMax: 3 };
      expect([await release(ofBob), await release(ofBob)]).toEqual([
        [3, true],
        [2, false],
      ]);
      expect((await all(at)).locks.map(({ ownerName }) => ownerName)).toEqual(Array(15).fill('ada'));
      expect(await release({ ...at, locksMax: 14 })).toEqual([14, true]);
      expect((await all(other)).locks).toHaveLength(3);
      expect(await release({ tenant: at.tenant, locksMax: 4 })).toEqual([4, false]);
      expect((await all(at)).locks).toEqual([]);
      expect((await all(other)).locks).toEqual([]);
      expect((await all(stranger)).locks).toHaveLength(1);
    });

    it('of a repo are bounded, and those that there are stay as they are', async () => {
      const at = newRepo();
      const paths: string[] = [];
      for (let index = 0; paths.length <= locksPerSliceMax; index += 1)
        if (lockSliceOf(lockHashOf(`${index}`)) === '00') paths.push(`${index}`);
      const last = paths.pop() ?? '';
      for (const path of paths) await take(at, lockOf(path));
      expect(await locks.take({ ...at, lock: lockOf(last) })).toEqual({ kind: 'full' });
      for (const path of [paths[0] ?? '', paths.at(-1) ?? ''])
        expect(await locks.take({ ...at, lock: lockOf(path) })).toMatchObject({ kind: 'held' });
      await take(at, lockOf('in another slice'));
      await take({ ...at, repo: 'other' }, lockOf(last));
      const [first] = (await all(at)).locks;
      await locks.release({ ...at, lockId: first?.id ?? '' });
      expect((await locks.take({ ...at, lock: lockOf(last) })).kind).toBe('taken');
    });
  });
}
