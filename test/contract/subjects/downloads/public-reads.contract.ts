import { describe, expect, it } from 'vitest';
import { createDynamoDbPublicReads } from '../../../../lambda/subjects/downloads/public-read-store.ts';
import { publicReposMax } from '../../../../lambda/subjects/downloads/rules/public-reads.ts';
import { onceOpen } from '../../../support/once-open.ts';
import { type OpenTable, tenantName } from '../../ledger-context.ts';
import { marksContract } from '../hosts/marks.contract.ts';

export function publicReadsContract(table: OpenTable): void {
  describe('public repos', () => {
    const reads = onceOpen(async () => createDynamoDbPublicReads(await table()));
    const publicRead = (repo: string, monthlyLimitBytes: number | null = 100, sinceMs = 1) => ({
      repo,
      monthlyLimitBytes,
      sinceMs,
    });

    marksContract(reads, {
      first: publicRead('game'),
      other: publicRead('Art.v2', null),
      changed: publicRead('game', null, 2),
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
