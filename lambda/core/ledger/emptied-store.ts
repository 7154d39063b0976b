import { absent } from '../table/expressions.ts';
import { deleteItem, itemsBelow, methodsOn, putItem, type Table } from '../table/requests.ts';
import { expiring } from '../table/table.ts';
import { emptiedKey, ofRepo } from './items.ts';
import { type Emptied, emptiedFields, emptiedKeptMs } from './rules/emptied.ts';
import type { RepoPath } from './rules/tenant.ts';

/** Items of what empty objects take. */
export function emptiedMethods(table: Table) {
  return methodsOn(table, { putEmptied, emptied, removeEmptied });
}

/** Writes a new one. If it exists already, this is a retry of our own, and nothing happens. */
async function putEmptied(table: Table, { tenant, ...emptied }: Emptied & RepoPath): Promise<void> {
  const { repo, id, dueAtMs } = emptied;
  // One that is written once its repo is gone is nobody's.
  const item = { ...emptiedKey({ tenant, repo, id }), ...emptied, ...expiring(dueAtMs + emptiedKeptMs) };
  await putItem(table, { item, condition: absent });
}

/** Of a tenant, or of one repo: those that go first come first, repo by repo. */
async function* emptied(
  table: Table,
  { tenant, repo }: { tenant: string; repo?: string },
): AsyncIterable<readonly Emptied[]> {
  const prefix = repo === undefined ? 'EMPTIED#' : ofRepo('EMPTIED', repo);
  for await (const items of itemsBelow(table, { tenant, prefix }))
    yield items
      .map((item): Emptied => emptiedFields.parse(item))
      .filter((each) => repo === undefined || each.repo === repo);
}

async function removeEmptied(table: Table, key: RepoPath & { id: string }): Promise<void> {
  await deleteItem(table, { key: emptiedKey(key) });
}
