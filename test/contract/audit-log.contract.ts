import { describe, expect, it } from 'vitest';
import type { AuditLog } from '../../lambda/frame/access/audit-store.ts';
import { type AuditEntry, auditFields, auditIdOf } from '../../lambda/frame/access/rules/audit.ts';
import { onceOpen } from '../support/once-open.ts';
import { walk } from '../support/walk.ts';
import { tenantName } from './ledger-context.ts';

const beganMs = Date.UTC(2026, 10, 21, 12);
const everMs = { fromMs: 0, untilMs: beganMs * 2 };

export function auditLogContract(open: () => Promise<AuditLog>): void {
  describe('the audit', () => {
    const audit = onceOpen(open);
    const entry = (tenant: string, requestId: string, more: Partial<AuditEntry> = {}): AuditEntry => ({
      tenant,
      atMs: beganMs,
      requestId,
      by: { kind: 'operator', tokenId: null, name: null },
      action: 'tenant.update',
      target: {},
      asked: null,
      outcome: 'started',
      reason: null,
      before: null,
      after: null,
      ...more,
    });
    const all = async (tenant: string, more: Partial<Parameters<AuditLog['list']>[0]> = {}) => {
      const input = { tenant, ...everMs, pageSize: 2, ...more };
      const pages = await walk(async (before: string | undefined) => {
        const { entries, next } = await audit.list({ ...input, ...(before !== undefined && { before }) });
        return [entries, next];
      });
      for (const page of pages) expect(page.length).toBeLessThanOrEqual(input.pageSize);
      return pages.flat();
    };

    it('has the newest first, each tenant’s own, by pages of any size', async () => {
      const [tenant, other] = [tenantName(), tenantName()];
      expect(await all(tenant)).toEqual([]);
      const entries = [0, 1, 2, 3, 4].map((index) =>
        entry(tenant, `r${index}`, { atMs: beganMs + Math.floor(index / 2) }),
      );
      for (const each of [...entries, entry(other, 'r9')]) await audit.begin(each);
      const newest = entries.toReversed();
      for (const pageSize of [1, 2, 4, 5, 6]) expect(await all(tenant, { pageSize })).toEqual(newest);
      expect(await all(tenant, { fromMs: beganMs + 1 })).toEqual(newest.slice(0, 3));
      expect(await all(tenant, { untilMs: beganMs + 1 })).toEqual(newest.slice(3));
      expect(await all(tenant, { fromMs: beganMs + 5, untilMs: beganMs + 6 })).toEqual([]);
      expect(await all(tenant, { fromMs: beganMs + 5, untilMs: beganMs })).toEqual([]);
    });

    it('goes on after a place that no entry has', async () => {
      const tenant = tenantName();
      for (const requestId of ['a', 'c']) await audit.begin(entry(tenant, requestId));
      const idsBefore = async (before: string) =>
        (await audit.list({ tenant, ...everMs, pageSize: 5, before })).entries.map(
          ({ requestId }) => requestId,
        );
      expect(await idsBefore(auditIdOf({ atMs: beganMs, requestId: 'b' }))).toEqual(['a']);
      expect(await idsBefore(auditIdOf({ atMs: beganMs, requestId: '0' }))).toEqual([]);
      expect(await idsBefore('')).toEqual([]);
      expect(await idsBefore('x')).toEqual(['c', 'a']);
    });

    it('has what came of an action, whatever was written again or late', async () => {
      const tenant = tenantName();
      const begun = entry(tenant, 'r1', { asked: { limitBytes: 5, plan: null } });
      await audit.begin(begun);
      expect(await all(tenant)).toEqual([begun]);
      const done = {
        ...begun,
        outcome: 'succeeded' as const,
        before: { limitBytes: null },
        after: { limitBytes: 5, repos: ['a'], match: { ref: ['x'] } },
      };
      await audit.finish(done);
      await audit.begin(begun);
      await audit.finish(done);
      expect(await all(tenant)).toEqual([done]);
    });

    it('has no end of what was never begun', async () => {
      const tenant = tenantName();
      await audit.finish(entry(tenant, 'r1', { outcome: 'succeeded' }));
      expect(await all(tenant)).toEqual([]);
    });

    it('has entries as large as they may be', async () => {
      const tenant = tenantName();
      const large = auditFields(
        Object.fromEntries(Array.from({ length: 15 }, (_, index) => [`f${index}`, 'ä'.repeat(1000)])),
      );
      const full = entry(tenant, 'r'.repeat(100), {
        target: large,
        asked: large,
        before: large,
        after: large,
      });
      await audit.begin(full);
      await audit.finish({ ...full, outcome: 'succeeded' });
      expect(await all(tenant)).toEqual([{ ...full, outcome: 'succeeded' }]);
      expect(Buffer.byteLength(JSON.stringify(full))).toBeLessThan(20_000);
    });
  });
}
