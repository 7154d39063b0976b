import { isChangeUnknown, type RepoPath, type RepoRecord, removalTokenStart } from '../../domain/tenant.ts';
import { all, type Fields, removing, setting } from '../../table/expressions.ts';
import {
  deleteItem,
  firstItems,
  getItem,
  itemsBelow,
  keysAfter,
  methodsOn,
  type Table,
  updateItem,
} from '../../table/requests.ts';
import { byDueIndex } from '../../table/table.ts';
import { dueKey, parseRepo, repoKey } from './items.ts';

/**
 * Repo items, but for what a scan found: reconciles.ts commits that. One that is not known yet is created when something is
 * set on it.
 */
export function repoMethods(table: Table) {
  return methodsOn(table, {
    repos,
    readRepo,
    markDirty,
    listRepos,
    removeRepo,
    createRepo,
    closeRepo,
    openRepo,
  });
}

async function* repos(table: Table, tenant: string): AsyncIterable<readonly RepoRecord[]> {
  for await (const items of itemsBelow(table, { tenant, prefix: 'REPO#' })) yield items.map(parseRepo);
}

async function readRepo(table: Table, input: RepoPath): Promise<RepoRecord | undefined> {
  const item = await getItem(table, repoKey(input));
  return item && parseRepo(item);
}

/**
 * Sets a new dirty token: what was scanned of the repo before is no longer relied on. `refused`: the token says that
 * records tell what changed, and the one that is there says that something unknown did. It stays, whenever this lands.
 */
async function markDirty(
  table: Table,
  input: RepoPath & { dirtyToken: string },
): Promise<'marked' | 'refused'> {
  const { dirtyToken } = input;
  const isKnown = !isChangeUnknown(input);
  const ok = await setOnRepo(table, input, {
    fields: { dirtyToken },
    ...(isKnown && {
      condition: '(attribute_not_exists(#dirtyToken) OR begins_with(#dirtyToken, :known))',
      values: { ':known': removalTokenStart },
    }),
  });
  return ok ? 'marked' : 'refused';
}

/** Repos by name, a page at a time: the first `pageSize` after the name. */
async function listRepos(
  table: Table,
  input: { tenant: string; after?: string; pageSize: number },
): Promise<readonly RepoRecord[]> {
  const { tenant, after, pageSize } = input;
  const items = await firstItems(table, {
    ...keysAfter({
      tenant,
      prefix: 'REPO#',
      after: after === undefined ? undefined : repoKey({ tenant, repo: after }).sk,
    }),
    Limit: pageSize,
  });
  return items.map(parseRepo);
}

/**
 * Removes the item of a repo that nobody needs (`isDisposable`). `refused`: something has changed in it since it was read.
 */
async function removeRepo(
  table: Table,
  { tenant, before }: { tenant: string; before: RepoRecord },
): Promise<'removed' | 'refused'> {
  const { repo, epoch, putsUntilMs, endedClosingMs, endedWatchMs } = before;
  const none = ['dirtyToken', 'createdAtMs', 'closedAtMs', 'giant', 'watch', 'tidyBelowEpoch'];
  const asRead = (name: string, value: number | undefined) =>
    value === undefined ? `attribute_not_exists(#${name})` : `#${name} = :${name}`;
  const result = await deleteItem(table, {
    key: repoKey({ tenant, repo }),
    condition: all(
      '#epoch = :epoch',
      '#objectCount = :none',
      ...none.map((name) => `attribute_not_exists(#${name})`),
      asRead('endedClosingMs', endedClosingMs),
      asRead('endedWatchMs', endedWatchMs),
      `(attribute_not_exists(#putsUntilMs) OR #putsUntilMs = :putsUntilMs)`,
    ),
    values: {
      ':epoch': epoch,
      ':none': 0,
      ':endedClosingMs': endedClosingMs,
      ':endedWatchMs': endedWatchMs,
      ':putsUntilMs': putsUntilMs,
    },
  });
  return result.ok ? 'removed' : 'refused';
}

/** Notes that somebody created a repo. One that was created already keeps its time. `closed`: it is being deleted. */
async function createRepo(
  table: Table,
  input: RepoPath & { createdAtMs: number },
): Promise<'done' | 'closed'> {
  const { createdAtMs } = input;
  const ok = await setOnRepo(table, input, {
    fields: {},
    defaults: { createdAtMs },
    condition: 'attribute_not_exists(#closedAtMs)',
  });
  return ok ? 'done' : 'closed';
}

/**
 * Closes a repo: it takes no more batches, and will be emptied. Its tenant is due until the repo is opened
 * again. A repo that is closed already keeps its time. A closing that has ended changes nothing if it lands once more.
 *
 * @param input.isForGood its tenant is closed: the same closing may follow its end, because an upload arrived late.
 */
async function closeRepo(
  table: Table,
  input: RepoPath & { closedAtMs: number; isForGood?: boolean },
): Promise<void> {
  const { tenant, closedAtMs, isForGood = false } = input;
  const due = dueKey({ kind: 'DELETION', tenant, dueAtMs: closedAtMs });
  await setOnRepo(table, input, {
    fields: { [byDueIndex.pk]: due[byDueIndex.pk] },
    // A repo that is closed already keeps its time.
    defaults: { closedAtMs, [byDueIndex.sk]: closedAtMs },
    ...(!isForGood && {
      condition: '(attribute_not_exists(#endedClosingMs) OR #endedClosingMs < :closedAtMs)',
    }),
  });
}

/**
 * Opens a repo that was closed at `closedAtMs`. Nobody has created it then. `refused`: it is open, or was closed again
 * since.
 */
async function openRepo(
  table: Table,
  input: RepoPath & { closedAtMs: number },
): Promise<'opened' | 'refused'> {
  const result = await updateItem(table, {
    key: repoKey(input),
    change: [
      setting({ endedClosingMs: input.closedAtMs }),
      removing('closedAtMs', 'createdAtMs', 'points', byDueIndex.pk, byDueIndex.sk),
    ],
    condition: '#closedAtMs = :closed',
    values: { ':closed': input.closedAtMs },
  });
  return result.ok ? 'opened' : 'refused';
}

/** The attributes of a repo that no scan has counted. */
export const neverScanned = { epoch: 0, storedBytes: 0, objectCount: 0, countedAtMs: 0, covered: [] };

/**
 * Sets attributes of a repo. If it does not exist yet, it is created as never scanned (epoch 0).
 *
 * @returns false if the condition did not hold.
 */
async function setOnRepo(
  table: Table,
  path: RepoPath,
  write: { fields: Fields; defaults?: Fields; condition?: string; values?: Fields },
): Promise<boolean> {
  const { fields, defaults, condition, values } = write;
  const { ok } = await updateItem(table, {
    key: repoKey(path),
    change: [setting({ repo: path.repo, ...fields }, { defaults: { ...neverScanned, ...defaults } })],
    ...(condition !== undefined && { condition }),
    ...(values && { values }),
  });
  return ok;
}
