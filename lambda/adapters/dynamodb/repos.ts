import { isChangeUnknown, removalTokenStart } from '../../domain/tenant.ts';
import type { Input, Output, RepoLedger, RepoPath } from '../../ports/ledger.ts';
import { all, type Fields, removing, setting } from './expressions.ts';
import { dueKey, parseRepo, repoKey } from './items.ts';
import { firstItems, itemsBelow, keysAfter } from './pages.ts';
import { deleteItem, getItem, type Table, updateItem } from './requests.ts';
import { byDueIndex } from './table.ts';

/** Repo items, but for what a scan found: reconciles.ts commits that. */
export function repoMethods(table: Table): RepoLedger {
  return {
    repos: (tenant) => repos(table, tenant),
    readRepo: (input) => readRepo(table, input),
    markDirty: (input) => markDirty(table, input),
    listRepos: (input) => listRepos(table, input),
    removeRepo: (input) => removeRepo(table, input),
    createRepo: (input) => createRepo(table, input),
    closeRepo: (input) => closeRepo(table, input),
    openRepo: (input) => openRepo(table, input),
  };
}

async function* repos(table: Table, tenant: Input<'repos'>): Output<'repos'> {
  for await (const items of itemsBelow(table, { tenant, prefix: 'REPO#' })) yield items.map(parseRepo);
}

async function readRepo(table: Table, input: Input<'readRepo'>): Output<'readRepo'> {
  const item = await getItem(table, repoKey(input));
  return item && parseRepo(item);
}

async function markDirty(table: Table, input: Input<'markDirty'>): Output<'markDirty'> {
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

async function listRepos(table: Table, input: Input<'listRepos'>): Output<'listRepos'> {
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

async function removeRepo(table: Table, { tenant, before }: Input<'removeRepo'>): Output<'removeRepo'> {
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

async function createRepo(table: Table, input: Input<'createRepo'>): Output<'createRepo'> {
  const { createdAtMs } = input;
  const ok = await setOnRepo(table, input, {
    fields: {},
    defaults: { createdAtMs },
    condition: 'attribute_not_exists(#closedAtMs)',
  });
  return ok ? 'done' : 'closed';
}

async function closeRepo(table: Table, input: Input<'closeRepo'>): Output<'closeRepo'> {
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

async function openRepo(table: Table, input: Input<'openRepo'>): Output<'openRepo'> {
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
