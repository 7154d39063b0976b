import { describe, expect, it } from 'vitest';
import { ledgerContext, type OpenTable, tenantName } from './ledger-context.ts';

export function repoContract(table: OpenTable): void {
  describe('repos', () => {
    const { ledger, create } = ledgerContext(table);

    it('are listed by name, a page at a time, and only those of the tenant', async () => {
      const [tenant, other] = [await create(), await create()];
      // A folder that something else wrote can have any name.
      const repos = ['', '0', 'App', 'app', 'app-2', 'app.old', 'zoo', '\u{1f5bf}'];
      for (const repo of repos) await ledger.markDirty({ tenant, repo, dirtyToken: 'd' });
      await ledger.markDirty({ tenant: other, repo: 'app-1', dirtyToken: 'd' });
      const listed: string[] = [];
      for (;;) {
        const after = listed.at(-1);
        const input = { tenant, pageSize: 3, ...(after !== undefined && { after }) };
        const page = await ledger.listRepos(input);
        listed.push(...page.map(({ repo }) => repo));
        if (page.length < 3) break;
      }
      expect(listed).toEqual([...repos].sort());
    });

    it('stay dirty by an unknown change when one is noted of which a record tells what it was', async () => {
      const tenant = await create();
      const path = { tenant, repo: 'app' };
      const mark = (dirtyToken: string) => ledger.markDirty({ ...path, dirtyToken });
      const token = async () => (await ledger.readRepo(path))?.dirtyToken;
      expect([await mark('removed-1'), await mark('removed-2'), await token()]).toEqual([
        'marked',
        'marked',
        'removed-2',
      ]);
      expect([await mark('x'), await mark('removed-2'), await token()]).toEqual(['marked', 'refused', 'x']);
      expect([await mark('y'), await token()]).toEqual(['marked', 'y']);
    });

    it('are listed after a name that does not exist, too', async () => {
      const tenant = await create();
      for (const repo of ['a', 'c']) await ledger.markDirty({ tenant, repo, dirtyToken: 'd' });
      const page = await ledger.listRepos({ tenant, after: 'b', pageSize: 5 });
      expect(page.map(({ repo }) => repo)).toEqual(['c']);
      expect(await ledger.listRepos({ tenant: tenantName(), pageSize: 5 })).toEqual([]);
      for (const after of ['\uffff', '\u{10ffff}'])
        expect(await ledger.listRepos({ tenant, after, pageSize: 5 })).toEqual([]);
    });
  });
}
