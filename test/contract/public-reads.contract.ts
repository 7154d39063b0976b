import { beforeAll, describe, expect, it } from 'vitest';
import type { PublicReads } from '../../lambda/adapters/dynamodb/public-reads.ts';
import { publicReposMax } from '../../lambda/domain/public-read.ts';
import { tenantName } from './ledger-context.ts';

export function publicReadsContract(open: () => Promise<PublicReads>): void {
  describe('public repos', () => {
    let reads: PublicReads;
    beforeAll(async () => {
      reads = await open();
    });
    const publicRead = (repo: string, monthlyLimitBytes: number | null = 100, sinceMs = 1) => ({
      repo,
      monthlyLimitBytes,
      sinceMs,
    });

    it('are none until they are made so, each tenant’s own', async () => {
      const [tenant, other] = [tenantName(), tenantName()];
      expect(await reads.find({ tenant, repo: 'game' })).toBeUndefined();
      expect(await reads.list(tenant)).toEqual([]);
      await reads.put({ tenant, mark: publicRead('game') });
      await reads.put({ tenant, mark: publicRead('Art.v2', null) });
      await reads.put({ tenant: other, mark: publicRead('film') });
      expect(await reads.find({ tenant, repo: 'game' })).toEqual(publicRead('game'));
      expect(await reads.find({ tenant, repo: 'gam' })).toBeUndefined();
      expect(await reads.find({ tenant: other, repo: 'game' })).toBeUndefined();
      expect(await reads.list(tenant)).toEqual([publicRead('Art.v2', null), publicRead('game')]);
    });

    it('can be changed, ended, and made public again', async () => {
      const tenant = tenantName();
      const path = { tenant, repo: 'game' };
      expect(await reads.end({ ...path, atMs: 1 })).toBeUndefined();
      await reads.put({ tenant, mark: publicRead('game') });
      await reads.put({ tenant, mark: publicRead('game', null, 2) });
      expect(await reads.find(path)).toEqual(publicRead('game', null, 2));
      expect(await reads.end({ ...path, atMs: 3 })).toEqual(publicRead('game', null, 2));
      expect(await reads.end({ ...path, atMs: 4 })).toBeUndefined();
      expect(await reads.find(path)).toBeUndefined();
      expect(await reads.list(tenant)).toEqual([]);
      await reads.put({ tenant, mark: publicRead('game', 0, 5) });
      expect(await reads.find(path)).toEqual(publicRead('game', 0, 5));
    });

    it('are in the end what one of many who change them at once wanted', async () => {
      const tenant = tenantName();
      await Promise.all(
        Array.from({ length: 8 }, (_, index) =>
          reads.put({ tenant, mark: publicRead('game', index, index) }),
        ),
      );
      const found = await reads.find({ tenant, repo: 'game' });
      expect(found?.monthlyLimitBytes).toBe(found?.sinceMs);
    });

    it('are listed by name, however many', async () => {
      const tenant = tenantName();
      const names = Array.from(
        { length: publicReposMax },
        (_, index) => `${String(index).padStart(4, '0')}${'x'.repeat(90)}`,
      );
      for (let first = 0; first < names.length; first += 50)
        await Promise.all(
          names.slice(first, first + 50).map((repo) => reads.put({ tenant, mark: publicRead(repo) })),
        );
      expect((await reads.list(tenant)).map(({ repo }) => repo)).toEqual(names);
    });
  });
}
