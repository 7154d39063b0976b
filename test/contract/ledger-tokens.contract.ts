import { describe, expect, it } from 'vitest';
import type { TokenRecord } from '../../lambda/ports/credentials.ts';
import { type LedgerUnderTest, ledgerContext, tenantName } from './ledger-context.ts';

export function tokenContract(open: () => Promise<LedgerUnderTest>): void {
  describe('tokens', () => {
    const { get } = ledgerContext(open);
    const token = (tenant: string, tokenId: string, more: Partial<TokenRecord> = {}): TokenRecord => ({
      tokenId,
      secretSha256: 'ab',
      tenant,
      scope: 'read',
      label: null,
      createdAtMs: 1,
      ...more,
    });

    it('are found, listed by age, and deleted only by their own tenant', async () => {
      const tenant = tenantName();
      const [first, second] = [`a${tenant}`, `b${tenant}`];
      expect(
        await get().tokens.put(token(tenant, second, { createdAtMs: 2, label: 'x', scope: 'write' })),
      ).toBe('created');
      expect(await get().tokens.put(token(tenant, first))).toBe('created');
      expect(await get().tokens.put(token(tenant, first))).toBe('exists');
      expect(await get().tokens.find(first)).toEqual(token(tenant, first));
      expect((await get().tokens.list(tenant)).map(({ tokenId }) => tokenId)).toEqual([first, second]);
      expect(await get().tokens.delete({ tenant: 'other', tokenId: first })).toBe('absent');
      expect(await get().tokens.delete({ tenant, tokenId: first })).toBe('deleted');
      expect(await get().tokens.find(first)).toBeUndefined();
      expect(await get().tokens.delete({ tenant, tokenId: first })).toBe('absent');
    });
  });
}
