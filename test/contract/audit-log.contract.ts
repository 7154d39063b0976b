import { beforeAll, describe, expect, it } from 'vitest';
import type { AuditLog } from '../../lambda/adapters/dynamodb/audit-log.ts';
import { type AuditEntry, auditFields, auditIdOf } from '../../lambda/domain/audit.ts';
import { tenantName } from './ledger-context.ts';

const beganMs = Date.UTC(2026, 10, 21, 12);
const everMs = { fromMs: 0, untilMs: beganMs * 2 };

export function auditLogContract(open: () => Promise<AuditLog>): void {
  describe('the audit', () => {
    let audit: AuditLog;
    beforeAll(async () => {
      audit = await open();
    });
    const entry = (tenant: string, requestId: string, more: Partial<AuditEntry> = {}): AuditEntry => ({
      tenant,
      atMs: beganMs,
      requestId,
      by: { kind: 'operator', tokenId: null, name: null },
      action: 'tenant.update',
      target: {},
      asked: null,
      outcome: 'begun',
      reason: null,
      before: null,
      after: null,
      ...more,
    });
    const all = async (tenant: string, more: Partial<Parameters<AuditLog['list']>[0]> = {}) => {
      const found: AuditEntry[] = [];
      let before: string | undefined;
      do {
        const page: Awaited<ReturnType<AuditLog['list']>> = await audit.list({
          tenant,
          ...everMs,
          pageSize: 2,
          ...more,
          ...(before !== undefined && { before }),
        });
        expect(page.entries.length).toBeLessThanOrEqual(more.pageSize ?? 2);
        found.push(...page.entries);
        before = page.next ?? undefined;
      } while (before !== undefined);
      return found;
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
      const laterThan = async (requestId: string) =>
        (
          await audit.list({
            tenant,
            ...everMs,
            pageSize: 5,
            before: auditIdOf({ atMs: beganMs, requestId }),
          })
        ).entries;
      expect((await laterThan('b')).map(({ requestId }) => requestId)).toEqual(['a']);
      expect(await laterThan('0')).toEqual([]);
      expect((await audit.list({ tenant, ...everMs, pageSize: 5, before: '' })).entries).toEqual([]);
      expect((await audit.list({ tenant, ...everMs, pageSize: 5, before: 'x' })).entries).toHaveLength(2);
    });

    it('has what came of an action, whatever was written again or late', async () => {
      const tenant = tenantName();
      const begun = entry(tenant, 'r1', { asked: { limitBytes: 5, plan: null } });
      await audit.begin(begun);
      expect(await all(tenant)).toEqual([begun]);
      const done = {
        ...begun,
        outcome: 'done' as const,
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
      await audit.finish(entry(tenant, 'r1', { outcome: 'done' }));
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
      await audit.finish({ ...full, outcome: 'done' });
      expect(await all(tenant)).toEqual([{ ...full, outcome: 'done' }]);
      expect(Buffer.byteLength(JSON.stringify(full))).toBeLessThan(20_000);
    });
  });
}
