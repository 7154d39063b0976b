import { describe, expect, it, vi } from 'vitest';
import { findPublicRepo } from '../../../../../lambda/subjects/downloads/lfs/public-repos.ts';
import { newTenant } from '../../../../support/ledger-records.ts';
import { memoryDeps } from '../../../../support/memory/deps.ts';
import { MemoryLedger } from '../../../../support/memory/ledger.ts';
import { MemoryPublicReads } from '../../../../support/subjects/downloads/in-memory.ts';

describe('find public repo', () => {
  const path = { tenant: 'acme', repo: 'game' };
  const publicRead = { repo: 'game', monthlyLimitBytes: 100, sinceMs: 10 };

  async function setUp() {
    const [ledger, publicReads] = [new MemoryLedger(), new MemoryPublicReads()];
    const deps = memoryDeps({ ledger, publicReads });
    await ledger.createTenant(newTenant('acme'));
    await ledger.markDirty({ ...path, dirtyToken: 't' });
    const reads = [
      vi.spyOn(publicReads, 'find'),
      vi.spyOn(deps.tenantLinks, 'find'),
      vi.spyOn(deps.tenantLinks, 'findPin'),
      vi.spyOn(ledger, 'readTenant'),
      vi.spyOn(ledger, 'readRepo'),
    ] as const;
    const find = (more: Partial<typeof path> = {}) => findPublicRepo(deps, { ...path, ...more });
    return { ledger, publicReads, find, readCounts: () => reads.map((spy) => spy.mock.calls.length) };
  }

  describe('a repo that anybody asks for', () => {
    it('is found if it is public, with its tenant', async () => {
      const { publicReads, find } = await setUp();
      await publicReads.put({ tenant: 'acme', mark: publicRead });
      expect(await find()).toMatchObject({ tenant: { tenant: 'acme' }, repo: { repo: 'game' }, publicRead });
    });

    it.each([
      ['a private one', {}],
      ['one that is absent', { repo: 'absent' }],
      ['one of an absent tenant', { tenant: 'absent' }],
    ])('costs a read of two items if it is %s', async (_what, more) => {
      const { publicReads, find, readCounts } = await setUp();
      await publicReads.put({ tenant: 'acme', mark: { ...publicRead, repo: 'film' } });
      expect(await find(more)).toBeUndefined();
      expect(readCounts()).toEqual([1, 1, 0, 0, 0]);
    });

    it('is not found while it is deleted, nor after it was opened again, nor of a deleted tenant', async () => {
      const { ledger, publicReads, find } = await setUp();
      await publicReads.put({ tenant: 'acme', mark: publicRead });
      await ledger.closeRepo({ ...path, closedAtMs: 20 });
      expect(await find()).toBeUndefined();
      await ledger.openRepo({ ...path, closedAtMs: 20 });
      expect(await find()).toBeUndefined();
      await publicReads.put({ tenant: 'acme', mark: { ...publicRead, sinceMs: 30 } });
      expect(await find()).toBeDefined();
      await ledger.closeTenant({ tenant: 'acme', closedAtMs: 40 });
      expect(await find()).toBeUndefined();
    });
  });
});
