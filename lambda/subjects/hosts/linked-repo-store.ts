import type { RepoPath } from '../../core/ledger/rules/tenant.ts';
import type { Table } from '../../core/table/requests.ts';
import { createDynamoDbRepoMarks } from '../../frame/access/repo-mark-store.ts';
import { type LinkedRepo, linkedReposMax, linkedSchema } from './rules/git-hosts.ts';

/** Linked repos on the ledger's table, an item for each. */
export function createDynamoDbLinkedRepos(table: Table) {
  const { change, ...marks } = createDynamoDbRepoMarks<LinkedRepo>(table, {
    partition: (tenant) => `MAPPED#${tenant}`,
    field: 'mapped',
    fields: linkedSchema,
    listedMax: 2 * linkedReposMax,
  });
  return {
    ...marks,
    /**
     * Notes the repository's number, unless one is known, or something else was decided since.
     *
     * @returns what holds now.
     * @throws {LedgerUnavailableError}
     */
    pin: ({ sinceMs, linkedId, ...path }: RepoPath & { sinceMs: number; linkedId: string }) =>
      change(path, (linked) => {
        if (linked?.sinceMs !== sinceMs || linked.linkedId !== null) return undefined;
        const { repo: _, ...fields } = linked;
        return { ...fields, linkedId };
      }),
  };
}

/** Which repos are linked. */
export type LinkedRepos = ReturnType<typeof createDynamoDbLinkedRepos>;
