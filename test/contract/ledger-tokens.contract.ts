import { describe, expect, it } from 'vitest';
import type { SessionRecord, TokenRecord } from '../../lambda/frame/access/rules/tokens.ts';
import { sessionsMax } from '../../lambda/frame/access/token-store.ts';
import { tokenRecord } from '../support/token-record.ts';
import { walk } from '../support/walk.ts';
import { ledgerContext, type OpenTable, tenantName } from './ledger-context.ts';

export function tokenContract(table: OpenTable): void {
  describe('tokens', () => {
    const { tokens } = ledgerContext(table);
    const token = (tenant: string, tokenId: string, more: Partial<TokenRecord> = {}): TokenRecord =>
      tokenRecord('', { tokenId, secretSha256: 'ab', tenant, scope: 'read', ...more });

    const session = (sessionId: string, parentId: string, createdAtMs = 1): SessionRecord => ({
      sessionId,
      parentId,
      secretSha256: 'cd',
      boundTo: 'ef',
      createdAtMs,
      expiresAtMs: 4_000_000_000_000,
    });

    it('are found, listed by age, and deleted only by their own tenant', async () => {
      const tenant = tenantName();
      const [first, second] = [`a${tenant}`, `b${tenant}`];
      expect(await tokens.put(token(tenant, second, { createdAtMs: 2, label: 'x', scope: 'write' }))).toBe(
        'created',
      );
      expect(await tokens.put(token(tenant, first))).toBe('created');
      expect(await tokens.put(token(tenant, first))).toBe('exists');
      expect(await tokens.find(first)).toEqual(token(tenant, first));
      expect((await tokens.list(tenant)).map(({ tokenId }) => tokenId)).toEqual([first, second]);
      expect(await tokens.delete({ tenant: 'other', tokenId: first })).toBe('absent');
      expect(await tokens.delete({ tenant, tokenId: first })).toBe('deleted');
      expect(await tokens.find(first)).toBeUndefined();
      expect(await tokens.delete({ tenant, tokenId: first })).toBe('absent');
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
      await tokens.put(record);
      expect(await tokens.find(record.tokenId)).toEqual(record);
      expect(await tokens.list(tenant)).toEqual([record]);
      await tokens.noteUse({ tokenId: record.tokenId, atMs: 300 });
      expect(await tokens.find(record.tokenId)).toEqual({ ...record, lastUsedAtMs: 300 });
    });

    it('note their last use, never an earlier one, and none of a token that is gone', async () => {
      const tenant = tenantName();
      const [used, gone] = [token(tenant, `a${tenant}`), token(tenant, `b${tenant}`)];
      for (const record of [used, gone]) await tokens.put(record);
      await tokens.delete(gone);
      for (const atMs of [200, 100, 200])
        for (const { tokenId } of [used, gone]) await tokens.noteUse({ tokenId, atMs });
      expect(await tokens.list(tenant)).toEqual([{ ...used, lastUsedAtMs: 200 }]);
      expect(await tokens.find(gone.tokenId)).toBeUndefined();
    });

    it('have sessions below them, which are neither listed nor lost with them', async () => {
      const tenant = tenantName();
      const parent = token(tenant, `a${tenant}`);
      await tokens.put(parent);
      const [first, second] = [session('one', parent.tokenId), session('two', parent.tokenId)];
      for (const each of [first, second, { ...first, boundTo: 'other' }]) await tokens.putSession(each);
      expect(await tokens.findSession(first)).toEqual(first);
      expect(await tokens.find(parent.tokenId)).toEqual(parent);
      expect(await tokens.list(tenant)).toEqual([parent]);
      for (const absent of [
        session('three', parent.tokenId),
        session('one', 'operator'),
        session('one', `b${tenant}`),
      ])
        expect(await tokens.findSession(absent)).toBeUndefined();
      for (let times = 0; times < 2; times += 1) await tokens.deleteSession(first);
      expect(await tokens.findSession(first)).toBeUndefined();
      expect(await tokens.findSession(second)).toEqual(second);
      // Whoever asks for a session asks for its token, too.
      await tokens.delete(parent);
      expect(await tokens.findSession(second)).toEqual(second);
    });

    it('have so many sessions: the oldest end', async () => {
      const parentId = `s${tenantName()}`;
      const nth = (index: number) => session(`session${index}`, parentId, index);
      for (let index = 0; index < sessionsMax + 2; index += 1) await tokens.putSession(nth(index));
      const isThere = async (index: number) => (await tokens.findSession(nth(index))) !== undefined;
      expect([await isThere(0), await isThere(1), await isThere(2)]).toEqual([false, false, true]);
      expect(await isThere(sessionsMax + 1)).toBe(true);
    });

    it('die with the rule that gave them', async () => {
      const tenant = tenantName();
      const lost = { ...token(tenant, `r${tenant}`), ruleId: '0000000000000000' };
      await tokens.put(lost);
      const kept = token(tenant, `k${tenant}`);
      await tokens.put(kept);
      expect(await tokens.find(lost.tokenId)).toBeUndefined();
      expect(await tokens.find(kept.tokenId)).toEqual(kept);
    });

    it('are listed by age, a page at a time', async () => {
      const tenant = tenantName();
      const tokenIds = ['e', 'd', 'c', 'b', 'a'].map((letter) => `${letter}${tenant}`);
      for (const [index, tokenId] of tokenIds.entries())
        await tokens.put(token(tenant, tokenId, { createdAtMs: 1000 + index }));
      const pages = await walk(async (cursor: string | undefined) => {
        const page = await tokens.listPage({ tenant, pageSize: 2, ...(cursor && { cursor }) });
        return [page.tokens.map(({ tokenId }) => tokenId), page.nextCursor];
      });
      expect(pages).toEqual([tokenIds.slice(0, 2), tokenIds.slice(2, 4), tokenIds.slice(4)]);
      const whole = await tokens.listPage({ tenant, pageSize: 5 });
      expect([whole.tokens.length, whole.nextCursor]).toEqual([5, null]);
    });
  });
}
