import { describe, expect, it } from 'vitest';
import { sessionsMax, type TokenPage } from '../../lambda/adapters/dynamodb/token-store.ts';
import type { SessionRecord } from '../../lambda/domain/session.ts';
import type { TokenRecord } from '../../lambda/domain/token.ts';
import { tokenRecord } from '../support/token-record.ts';
import { type LedgerUnderTest, ledgerContext, tenantName } from './ledger-context.ts';

export function tokenContract(open: () => Promise<LedgerUnderTest>): void {
  describe('tokens', () => {
    const { get } = ledgerContext(open);
    const token = (tenant: string, tokenId: string, more: Partial<TokenRecord> = {}): TokenRecord =>
      tokenRecord('', { tokenId, secretSha256: 'ab', tenant, scope: 'read', ...more });

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

    it('keep whom they are for, their repos, their end and their last use', async () => {
      const tenant = tenantName();
      const record = token(tenant, `a${tenant}`, {
        scope: 'manage',
        label: 'x',
        user: 'ada',
        repos: ['game', 'film'],
        expiresAtMs: 5_000,
      });
      await get().tokens.put(record);
      expect(await get().tokens.find(record.tokenId)).toEqual(record);
      expect(await get().tokens.list(tenant)).toEqual([record]);
      await get().tokens.noteUse({ tokenId: record.tokenId, atMs: 300 });
      expect(await get().tokens.find(record.tokenId)).toEqual({ ...record, lastUsedAtMs: 300 });
    });

    it('note their last use, never an earlier one, and none of a token that is gone', async () => {
      const tenant = tenantName();
      const [used, gone] = [token(tenant, `a${tenant}`), token(tenant, `b${tenant}`)];
      for (const record of [used, gone]) await get().tokens.put(record);
      await get().tokens.delete(gone);
      for (const atMs of [200, 100, 200])
        for (const { tokenId } of [used, gone]) await get().tokens.noteUse({ tokenId, atMs });
      expect(await get().tokens.list(tenant)).toEqual([{ ...used, lastUsedAtMs: 200 }]);
      expect(await get().tokens.find(gone.tokenId)).toBeUndefined();
    });

    it('have sessions below them, which are neither listed nor lost with them', async () => {
      const tenant = tenantName();
      const parent = token(tenant, `a${tenant}`);
      await get().tokens.put(parent);
      const session = (sessionId: string, parentId = parent.tokenId): SessionRecord => ({
        sessionId,
        parentId,
        secretSha256: 'cd',
        boundTo: 'ef',
        createdAtMs: 1,
        expiresAtMs: 4_000_000_000_000,
      });
      const [first, second] = [session('one'), session('two')];
      for (const each of [first, second, { ...first, boundTo: 'other' }]) await get().tokens.putSession(each);
      expect(await get().tokens.findSession(first)).toEqual(first);
      expect(await get().tokens.find(parent.tokenId)).toEqual(parent);
      expect(await get().tokens.list(tenant)).toEqual([parent]);
      for (const absent of [session('three'), session('one', 'operator'), session('one', `b${tenant}`)])
        expect(await get().tokens.findSession(absent)).toBeUndefined();
      for (let times = 0; times < 2; times += 1) await get().tokens.deleteSession(first);
      expect(await get().tokens.findSession(first)).toBeUndefined();
      expect(await get().tokens.findSession(second)).toEqual(second);
      // Whoever asks for a session asks for its token, too.
      await get().tokens.delete(parent);
      expect(await get().tokens.findSession(second)).toEqual(second);
    });

    it('have so many sessions: the oldest end', async () => {
      const parentId = `s${tenantName()}`;
      const session = (index: number): SessionRecord => ({
        sessionId: `session${index}`,
        parentId,
        secretSha256: 'cd',
        boundTo: 'ef',
        createdAtMs: index,
        expiresAtMs: 4_000_000_000_000,
      });
      for (let index = 0; index < sessionsMax + 2; index += 1) await get().tokens.putSession(session(index));
      const isThere = async (index: number) => (await get().tokens.findSession(session(index))) !== undefined;
      expect([await isThere(0), await isThere(1), await isThere(2)]).toEqual([false, false, true]);
      expect(await isThere(sessionsMax + 1)).toBe(true);
    });

    it('die with the rule that gave them', async () => {
      const tenant = tenantName();
      const lost = { ...token(tenant, `r${tenant}`), ruleId: '0000000000000000' };
      await get().tokens.put(lost);
      const kept = token(tenant, `k${tenant}`);
      await get().tokens.put(kept);
      expect(await get().tokens.find(lost.tokenId)).toBeUndefined();
      expect(await get().tokens.find(kept.tokenId)).toEqual(kept);
    });

    it('are listed by age, a page at a time', async () => {
      const tenant = tenantName();
      const tokenIds = ['e', 'd', 'c', 'b', 'a'].map((letter) => `${letter}${tenant}`);
      for (const [index, tokenId] of tokenIds.entries())
        await get().tokens.put(token(tenant, tokenId, { createdAtMs: 1000 + index }));
      const pages: string[][] = [];
      let cursor: string | null = null;
      do {
        const page: TokenPage = await get().tokens.listPage({
          tenant,
          pageSize: 2,
          ...(cursor && { cursor }),
        });
        pages.push(page.tokens.map(({ tokenId }) => tokenId));
        cursor = page.nextCursor;
      } while (cursor !== null);
      expect(pages).toEqual([tokenIds.slice(0, 2), tokenIds.slice(2, 4), tokenIds.slice(4)]);
      const whole = await get().tokens.listPage({ tenant, pageSize: 5 });
      expect([whole.tokens.length, whole.nextCursor]).toEqual([5, null]);
    });
  });
}
