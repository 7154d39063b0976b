import { describe, expect, it } from 'vitest';
import { createDynamoDbLinkedRepos } from '../../../../lambda/subjects/hosts/linked-repo-store.ts';
import type { LinkedRepo } from '../../../../lambda/subjects/hosts/rules/git-hosts.ts';
import { onceOpen } from '../../../support/once-open.ts';
import { type OpenTable, tenantName } from '../../ledger-context.ts';
import { marksContract } from './marks.contract.ts';

export function linkedReposContract(table: OpenTable): void {
  describe('linked repos', () => {
    const repos = onceOpen(async () => createDynamoDbLinkedRepos(await table()));
    const linked = (repo: string, more: Partial<LinkedRepo> = {}): LinkedRepo => ({
      repo,
      host: 'github',
      name: 'acme/game',
      linkedId: null,
      sinceMs: 1,
      ...more,
    });

    marksContract(repos, {
      first: linked('game'),
      other: linked('Art.v2', { host: 'gitlab', name: 'a/b/c', linkedId: '7' }),
      changed: linked('game', { name: 'acme/other', sinceMs: 2 }),
    });

    it('learn their number once, and none of another mapping', async () => {
      const tenant = tenantName();
      const path = { tenant, repo: 'game' };
      expect(await repos.pin({ ...path, sinceMs: 1, linkedId: '7' })).toBeUndefined();
      await repos.put({ tenant, mark: linked('game', { sinceMs: 10 }) });
      expect(await repos.pin({ ...path, sinceMs: 9, linkedId: '7' })).toEqual(
        linked('game', { sinceMs: 10 }),
      );
      const known = linked('game', { sinceMs: 10, linkedId: '7' });
      expect(await repos.pin({ ...path, sinceMs: 10, linkedId: '7' })).toEqual(known);
      expect(await repos.pin({ ...path, sinceMs: 10, linkedId: '8' })).toEqual(known);
      expect(await repos.find(path)).toEqual(known);
      await repos.end({ ...path, atMs: 11 });
      expect(await repos.pin({ ...path, sinceMs: 10, linkedId: '7' })).toBeUndefined();
      expect(await repos.find(path)).toBeUndefined();
    });

    it('have one number, whoever comes first of many', async () => {
      const tenant = tenantName();
      const path = { tenant, repo: 'game' };
      await repos.put({ tenant, mark: linked('game') });
      const answers = await Promise.all(
        ['1', '2', '3', '4', '5', '6'].map((linkedId) => repos.pin({ ...path, sinceMs: 1, linkedId })),
      );
      expect(new Set(answers.map((answer) => answer?.linkedId)).size).toBe(1);
      expect((await repos.find(path))?.linkedId).toBe(answers[0]?.linkedId);
    });
  });
}
