import { describe, expect, it } from 'vitest';
import type { MappedRepos } from '../../lambda/accounts/repo-mark-store.ts';
import type { MappedRepo } from '../../lambda/accounts/rules/git-hosts.ts';
import { onceOpen } from '../support/once-open.ts';
import { tenantName } from './ledger-context.ts';
import { marksContract } from './marks.contract.ts';

export function mappedReposContract(open: () => Promise<MappedRepos>): void {
  describe('mapped repos', () => {
    const repos = onceOpen(open);
    const mapped = (repo: string, more: Partial<MappedRepo> = {}): MappedRepo => ({
      repo,
      host: 'github',
      name: 'acme/game',
      hostedId: null,
      sinceMs: 1,
      ...more,
    });

    marksContract(repos, {
      first: mapped('game'),
      other: mapped('Art.v2', { host: 'gitlab', name: 'a/b/c', hostedId: '7' }),
      changed: mapped('game', { name: 'acme/other', sinceMs: 2 }),
    });

    it('learn their number once, and none of another mapping', async () => {
      const tenant = tenantName();
      const path = { tenant, repo: 'game' };
      expect(await repos.pin({ ...path, sinceMs: 1, hostedId: '7' })).toBeUndefined();
      await repos.put({ tenant, mark: mapped('game', { sinceMs: 10 }) });
      expect(await repos.pin({ ...path, sinceMs: 9, hostedId: '7' })).toEqual(
        mapped('game', { sinceMs: 10 }),
      );
      const known = mapped('game', { sinceMs: 10, hostedId: '7' });
      expect(await repos.pin({ ...path, sinceMs: 10, hostedId: '7' })).toEqual(known);
      expect(await repos.pin({ ...path, sinceMs: 10, hostedId: '8' })).toEqual(known);
      expect(await repos.find(path)).toEqual(known);
      await repos.end({ ...path, atMs: 11 });
      expect(await repos.pin({ ...path, sinceMs: 10, hostedId: '7' })).toBeUndefined();
      expect(await repos.find(path)).toBeUndefined();
    });

    it('have one number, whoever comes first of many', async () => {
      const tenant = tenantName();
      const path = { tenant, repo: 'game' };
      await repos.put({ tenant, mark: mapped('game') });
      const answers = await Promise.all(
        ['1', '2', '3', '4', '5', '6'].map((hostedId) => repos.pin({ ...path, sinceMs: 1, hostedId })),
      );
      expect(new Set(answers.map((answer) => answer?.hostedId)).size).toBe(1);
      expect((await repos.find(path))?.hostedId).toBe(answers[0]?.hostedId);
    });
  });
}
