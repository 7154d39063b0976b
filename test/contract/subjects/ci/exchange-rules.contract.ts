import { describe, expect, it } from 'vitest';
import { createDynamoDbExchangeRules } from '../../../../lambda/subjects/ci/rule-store.ts';
import type { ExchangeRule } from '../../../../lambda/subjects/ci/rules/identities.ts';
import { onceOpen } from '../../../support/once-open.ts';
import { type OpenTable, tenantName } from '../../ledger-context.ts';

export function exchangeRulesContract(table: OpenTable): void {
  describe('exchange rules', () => {
    const rules = onceOpen(async () => createDynamoDbExchangeRules(await table()));
    const rule = (tenant: string, id: string, more: Partial<ExchangeRule> = {}): ExchangeRule => ({
      id,
      tenant,
      issuer: 'https://issuer.example',
      match: { project_id: ['7'], ref: ['main', 'release-*'] },
      scope: 'write',
      repos: null,
      lifetimeMs: 3_600_000,
      createdAtMs: 1,
      ...more,
    });

    it('are listed by age, each tenant’s own, and deleted once', async () => {
      const [tenant, other] = [tenantName(), tenantName()];
      const [first, second] = [rule(tenant, 'b'), rule(tenant, 'a', { createdAtMs: 2, repos: ['game'] })];
      for (const each of [second, first, rule(other, 'c')]) await rules.put(each);
      expect(await rules.list(tenant)).toEqual([first, second]);
      expect(await rules.delete({ tenant: other, id: 'a' })).toBe('absent');
      expect(await rules.delete({ tenant, id: 'b' })).toBe('deleted');
      expect(await rules.delete({ tenant, id: 'b' })).toBe('absent');
      expect(await rules.list(tenant)).toEqual([second]);
      expect(await rules.list(tenantName())).toEqual([]);
    });

    it('are not changed by a put that is repeated', async () => {
      const tenant = tenantName();
      await rules.put(rule(tenant, 'a'));
      await rules.put(rule(tenant, 'a', { scope: 'read' }));
      expect(await rules.list(tenant)).toEqual([rule(tenant, 'a')]);
    });

    it('may be as large as the API lets them be, and as many', async () => {
      const tenant = tenantName();
      const values = Array.from({ length: 20 }, (_, index) => `${index}`.padEnd(255, 'ä'));
      const match = Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`claim${index}`, values]));
      const repos = Array.from({ length: 50 }, (_, index) => `${index}`.padEnd(100, 'x'));
      const all = Array.from({ length: 50 }, (_, index) =>
        rule(tenant, String(index).padStart(16, '0'), { match, repos }),
      );
      for (const each of all) await rules.put(each);
      expect(await rules.list(tenant)).toEqual(all);
    });
  });
}
