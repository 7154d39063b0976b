import { absent, all, exists, removing, setting } from '../table/expressions.ts';
import { deleteItem, itemsBelow, methodsOn, putItem, type Table, updateItem } from '../table/requests.ts';
import { emptiedKey, ofRepo, repoKey } from './items.ts';
import { type Emptied, emptiedFields } from './rules/emptied.ts';
import type { RepoPath } from './rules/tenant.ts';

/** Items of what empty objects take. The repo's item says that there are any, so that nobody else asks for them. */
export function emptiedMethods(table: Table) {
  return methodsOn(table, { putEmptied, keepEmptied, emptied, removeEmptied, endEmptied });
}

const parseEmptied = (item: unknown): Emptied => emptiedFields.parse(item);

/**
 * Writes a new one, after its repo's item says so. If it exists already, this is a retry of our own, and nothing happens.
 *
 * @returns `closed`: the repo is, or has no item, and nothing is written.
 */
async function putEmptied(
  table: Table,
  { tenant, ...emptied }: Emptied & RepoPath,
): Promise<'done' | 'closed'> {
  const { repo, id } = emptied;
  const noted = await updateItem(table, {
    key: repoKey({ tenant, repo }),
    change: [setting({ lastEmptied: id })],
    condition: all(exists, 'attribute_not_exists(#closedAtMs)'),
  });
  if (!noted.ok) return 'closed';
  await putItem(table, { item: { ...emptiedKey({ tenant, repo, id }), ...emptied }, condition: absent });
  return 'done';
}

/** Leaves it with these names: empty objects were put at no others. */
async function keepEmptied(
  table: Table,
  { names, ...key }: RepoPath & { id: string; names: readonly string[] },
): Promise<void> {
  await updateItem(table, { key: emptiedKey(key), change: [setting({ names })], condition: exists });
}

/** Of a tenant, or of one repo: those that go first come first, repo by repo. */
async function* emptied(
  table: Table,
  { tenant, repo }: { tenant: string; repo?: string },
): AsyncIterable<readonly Emptied[]> {
  const prefix = repo === undefined ? 'EMPTIED#' : ofRepo('EMPTIED', repo);
  for await (const items of itemsBelow(table, { tenant, prefix }))
    yield items.map(parseEmptied).filter((each) => repo === undefined || each.repo === repo);
}

async function removeEmptied(table: Table, key: RepoPath & { id: string }): Promise<void> {
  await deleteItem(table, { key: emptiedKey(key) });
}

/** Notes that a repo has none, if none was written since. */
async function endEmptied(
  table: Table,
  { lastEmptied, ...path }: RepoPath & { lastEmptied: string },
): Promise<void> {
  await updateItem(table, {
    key: repoKey(path),
    change: [removing('lastEmptied')],
    condition: all(exists, '#lastEmptied = :last'),
    values: { ':last': lastEmptied },
  });
}
