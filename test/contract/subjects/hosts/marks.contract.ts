import { expect, it } from 'vitest';
import type { RepoMarks } from '../../../../lambda/frame/access/repo-mark-store.ts';
import { tenantName } from '../../ledger-context.ts';

/** What holds for each kind of mark that a repo can have. `first` and `changed` are of one repo, `other` is of another. */
export function marksContract<Mark extends { readonly repo: string; readonly sinceMs: number }>(
  marks: RepoMarks<Mark>,
  { first, other, changed }: { first: Mark; other: Mark; changed: Mark },
): void {
  it('are none until they are made so, each tenant’s own', async () => {
    const [tenant, another] = [tenantName(), tenantName()];
    const path = { tenant, repo: first.repo };
    expect(await marks.find(path)).toBeUndefined();
    expect(await marks.list(tenant)).toEqual([]);
    for (const mark of [first, other]) await marks.put({ tenant, mark });
    await marks.put({ tenant: another, mark: { ...first, repo: 'film' } });
    expect(await marks.find(path)).toEqual(first);
    expect(await marks.find({ tenant, repo: first.repo.slice(0, -1) })).toBeUndefined();
    expect(await marks.find({ ...path, tenant: another })).toBeUndefined();
    expect(await marks.list(tenant)).toEqual([other, first]);
  });

  it('can be changed, ended, and made again', async () => {
    const tenant = tenantName();
    const path = { tenant, repo: first.repo };
    expect(await marks.end({ ...path, atMs: 1 })).toBeUndefined();
    for (const mark of [first, changed]) await marks.put({ tenant, mark });
    expect(await marks.find(path)).toEqual(changed);
    expect(await marks.end({ ...path, atMs: 3 })).toEqual(changed);
    expect(await marks.end({ ...path, atMs: 4 })).toBeUndefined();
    expect(await marks.find(path)).toBeUndefined();
    expect(await marks.list(tenant)).toEqual([]);
    const again = { ...first, sinceMs: 5 };
    await marks.put({ tenant, mark: again });
    expect(await marks.find(path)).toEqual(again);
  });
}
