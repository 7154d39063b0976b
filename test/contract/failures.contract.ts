import { describe, expect, it } from 'vitest';
import type { Failures } from '../../lambda/frame/failures/failure-store.ts';
import { type Failure, keptFailuresMax } from '../../lambda/frame/failures/rules/failures.ts';
import { onceOpen } from '../support/once-open.ts';

/** It has one list for all tenants: nothing else may note failures in the same table. */
export function failuresContract(open: () => Promise<Failures>): void {
  describe('failures', () => {
    const failures = onceOpen(open);
    const failure = (tenant: string, atMs: number, more: Partial<Failure> = {}): Failure => ({
      kind: 'reconcile',
      tenant,
      atMs,
      sinceMs: atMs,
      tries: 1,
      why: 'store',
      ...more,
    });

    it('are none at first, then the newest first, one for each reconcile and export', async () => {
      expect(await failures.list()).toEqual([]);
      await failures.note(failure('acme', 10));
      const exported = failure('acme', 20, { kind: 'export', exportId: 'e1', why: 'export' });
      await failures.note(exported);
      await failures.note(failure('acme', 30, { tries: 2, why: 'table', appliedEpoch: 7 }));
      expect(await failures.list()).toEqual([
        failure('acme', 30, { tries: 2, why: 'table', appliedEpoch: 7, sinceMs: 10 }),
        exported,
      ]);
    });

    it('lose nothing of what is noted at the same time, and are bounded', async () => {
      const names = Array.from({ length: 8 }, (_, index) => `t${index}`);
      await Promise.all(names.map((tenant, index) => failures.note(failure(tenant, 100 + index))));
      expect((await failures.list()).map(({ tenant }) => tenant)).toEqual(
        [...names].reverse().concat('acme', 'acme'),
      );
      for (let index = 0; index < keptFailuresMax; index += 1)
        await failures.note(failure(`u${index}`, 200 + index));
      const kept = await failures.list();
      expect(kept).toHaveLength(keptFailuresMax);
      expect(kept.every(({ tenant }) => tenant.startsWith('u'))).toBe(true);
    });
  });
}
