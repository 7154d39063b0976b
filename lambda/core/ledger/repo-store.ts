import {
  absent,
  adding,
  all,
  atVersion,
  exists,
  type Fields,
  removing,
  setting,
} from '../table/expressions.ts';
import {
  deleteItem,
  firstItems,
  getItem,
  itemsBelow,
  keysAfter,
  methodsOn,
  pagesOf,
  type Table,
  updateItem,
} from '../table/requests.ts';
import { byDueIndex, keyNames } from '../table/table.ts';
import { dueKey, parseRepo, parseShard, repoKey, shardFields, shardKey, shardPartition } from './items.ts';
import type { Shard } from './rules/shard.ts';
import {
  isChangeUnknown,
  type RepoPath,
  type RepoRecord,
  removalTokenStart,
  type ScanProgress,
} from './rules/tenant.ts';

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
    confirmKind,
    dropKind,
    setStorageClass,
    closeRepo,
    emptyLater,
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
  const none = [
    'dirtyToken',
    'createdAtMs',
    'storageClass',
    'closedAtMs',
    'giant',
    'watch',
    'tidyBelowEpoch',
  ];
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

/** What only a scan found: nobody created it, and no URL of Git LFS was handed out of which a reconcile has seen all. */
const isOnlyFound = all(
  'attribute_not_exists(#createdAtMs)',
  '(#epoch = :never OR #putsUntilMs = :never)',
  'attribute_not_exists(#watch)',
);

/**
 * Notes that somebody created a repo. One that was created already keeps its time. What a scan found becomes one of files, too: the
 * reservations tell of other URLs. `closed`: it is being deleted. `other-kind`: there is one of another kind, or its last PUTs may
 * still be under way.
 */
async function createRepo(
  table: Table,
  input: RepoPath & { createdAtMs: number } & Pick<RepoRecord, 'kind' | 'isUnproven'>,
): Promise<'done' | 'closed' | 'other-kind'> {
  const { createdAtMs, kind, isUnproven } = input;
  const ok = await setOnRepo(table, input, {
    fields: {},
    defaults: { createdAtMs, ...(kind && { kind }), ...(isUnproven && { isUnproven }) },
    condition: all(
      'attribute_not_exists(#closedAtMs)',
      kind
        ? `(${absent} OR (#kind = :kind AND attribute_exists(#isUnproven)) OR (${isOnlyFound}))`
        : 'attribute_not_exists(#kind)',
    ),
    ...(kind && { values: { ':kind': kind, ':never': 0 } }),
  });
  if (ok) return 'done';
  const found = await readRepo(table, input);
  if (typeof found?.closedAtMs === 'number') return 'closed';
  // One that is proven stays so, whenever this lands.
  return kind && found?.kind === kind ? 'done' : 'other-kind';
}

/** Ends that a repo is unproven, if it was created then and still is: it's of files. @returns whether this did. */
const confirmKind = (table: Table, input: RepoPath & { createdAtMs: number }) =>
  endUnproven(table, input, ['isUnproven']);

/** The same, and it's one of git-lfs. */
const dropKind = (table: Table, input: RepoPath & { createdAtMs: number }) =>
  endUnproven(table, input, ['isUnproven', 'kind']);

async function endUnproven(
  table: Table,
  { createdAtMs, ...path }: RepoPath & { createdAtMs: number },
  names: readonly string[],
): Promise<boolean> {
  const { ok } = await updateItem(table, {
    key: repoKey(path),
    change: [removing(...names)],
    condition: all('#createdAtMs = :created', 'attribute_exists(#isUnproven)'),
    values: { ':created': createdAtMs },
  });
  return ok;
}

/** Sets the storage class of a repo, or with null ends it. `closed`: it is being deleted. */
async function setStorageClass(
  table: Table,
  input: RepoPath & { storageClass: string | null },
): Promise<'done' | 'closed'> {
  const { storageClass } = input;
  const ok = await setOnRepo(table, input, {
    fields: storageClass === null ? {} : { storageClass },
    removes: storageClass === null ? ['storageClass'] : [],
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
      removing(...endedWithClosing, byDueIndex.pk, byDueIndex.sk),
    ],
    condition: '#closedAtMs = :closed',
    values: { ':closed': input.closedAtMs },
  });
  return result.ok ? 'opened' : 'refused';
}

const endedWithClosing = [
  'closedAtMs',
  'createdAtMs',
  'storageClass',
  'points',
  'kind',
  'isUnproven',
  'emptyFromMs',
];

/** Notes from when on a repo that was closed then can be empty. Until then it isn't due. */
async function emptyLater(
  table: Table,
  input: RepoPath & { closedAtMs: number; emptyFromMs: number },
): Promise<void> {
  const { closedAtMs, emptyFromMs } = input;
  await updateItem(table, {
    key: repoKey(input),
    change: [setting({ emptyFromMs, [byDueIndex.sk]: emptyFromMs })],
    condition: '#closedAtMs = :closed',
    values: { ':closed': closedAtMs },
  });
}

/** The attributes of a repo that no scan has counted. */
export const neverScanned = { epoch: 0, storedBytes: 0, objectCount: 0, scannedAtMs: 0, covered: [] };

/**
 * Sets attributes of a repo. If it does not exist yet, it is created as never scanned (epoch 0).
 *
 * @returns false if the condition did not hold.
 */
async function setOnRepo(
  table: Table,
  path: RepoPath,
  write: {
    fields: Fields;
    defaults?: Fields;
    removes?: readonly string[];
    condition?: string;
    values?: Fields;
  },
): Promise<boolean> {
  const { fields, defaults, removes = [], condition, values } = write;
  const { ok } = await updateItem(table, {
    key: repoKey(path),
    change: [
      setting({ repo: path.repo, ...fields }, { defaults: { ...neverScanned, ...defaults } }),
      removing(...removes),
    ],
    ...(condition !== undefined && { condition }),
    ...(values && { values }),
  });
  return ok;
}

/** Shards of large repos. Only a reconcile writes them, and only over what it has read. */
export function shardMethods(table: Table) {
  return methodsOn(table, {
    startLargeRepo,
    noteProgress,
    clearDirty,
    steerScan,
    endTidy,
    shards,
    putShard,
    removeShard,
  });
}

/**
 * Marks a repo as a large repo whose initial scan begins: the epoch is its `sinceEpoch`. A repo that the ledger does not know
 * gets an item. `superseded`: it was counted in this epoch or a later one, or is a large repo already.
 */
async function startLargeRepo(
  table: Table,
  input: RepoPath & { epoch: number },
): Promise<'begun' | 'superseded'> {
  const { repo, epoch } = input;
  const key = repoKey(input);
  const large = { sinceEpoch: epoch, rescanFromMs: 0, isInitialScan: true };
  const { ok } = await updateItem(table, {
    key,
    change: [setting({ repo, large }, { defaults: neverScanned })],
    condition: all('attribute_not_exists(#giant)', '(attribute_not_exists(#epoch) OR #epoch < :new)'),
    values: { ':new': epoch },
  });
  if (ok) return 'begun';
  const now = await getItem(table, key);
  // Refused, yet the epoch is ours: this was our own retry after a lost answer.
  return now && parseRepo(now).large?.sinceEpoch === epoch ? 'begun' : 'superseded';
}

/** Removes a dirty token, if it is the one that was read: the shards know of the change. */
async function clearDirty(table: Table, input: RepoPath & { dirtyToken: string }): Promise<void> {
  await updateItem(table, {
    key: repoKey(input),
    change: [removing('dirtyToken')],
    condition: '#dirtyToken = :read',
    values: { ':read': input.dirtyToken },
  });
}

/** Notes that the shards of a repo that is a large repo no longer are removed, if it says so as it was read. */
async function endTidy(table: Table, input: RepoPath & { tidyBelowEpoch: number }): Promise<void> {
  await updateItem(table, {
    key: repoKey(input),
    change: [removing('tidyBelowEpoch')],
    condition: '#tidyBelowEpoch = :read',
    values: { ':read': input.tidyBelowEpoch },
  });
}

/** Says how far an initial scan is, unless it has ended. */
async function noteProgress(
  table: Table,
  input: RepoPath & { sinceEpoch: number; progress: ScanProgress },
): Promise<void> {
  const { sinceEpoch, progress } = input;
  await updateItem(table, {
    key: repoKey(input),
    change: [setting({ large: { sinceEpoch, rescanFromMs: 0, isInitialScan: true, progress } })],
    condition: all('#giant.#isFirstCount = :true', '#giant.#sinceEpoch = :since'),
    values: { ':true': true, ':since': sinceEpoch },
  });
}

/**
 * Pauses the scans of a large repo's shards, resumes them (null), or gives up a reconcile. `refused`: it is no large repo, or
 * somebody has done so since it was read (`steeringVersion`, 0 if it has none).
 */
async function steerScan(
  table: Table,
  input: RepoPath & { steeringVersion: number } & ({ pausedAtMs: number | null } | { cancelledAtMs: number }),
): Promise<'done' | 'refused'> {
  const { steeringVersion } = input;
  const { ok } = await updateItem(table, {
    key: repoKey(input),
    change: [
      'cancelledAtMs' in input
        ? setting({ scanCancelledAtMs: input.cancelledAtMs })
        : input.pausedAtMs === null
          ? removing('countPausedAtMs')
          : setting({ scanPausedAtMs: input.pausedAtMs }),
      adding({ steeringVersion: 1 }),
    ],
    condition: all('attribute_exists(#giant)', atVersion('steeringVersion', steeringVersion)),
    values: { ':version': steeringVersion || undefined },
  });
  return ok ? 'done' : 'refused';
}

/** All items, in the order of their prefixes, also those that are not in force. */
async function* shards(table: Table, path: RepoPath): AsyncIterable<readonly Shard[]> {
  const pages = pagesOf(table, {
    KeyConditionExpression: '#pk = :pk',
    ExpressionAttributeNames: { '#pk': keyNames.pk },
    ExpressionAttributeValues: { ':pk': shardPartition(path) },
    ConsistentRead: true,
  });
  for await (const items of pages) yield items.map(parseShard);
}

/**
 * Writes a shard over the one of epoch `epochRead`. null: over none, or over one of an older epoch. Such a write can
 * bring back a shard that was removed since, if it lands once more: its parts tell (`shardsInForce`).
 *
 * `superseded`: it has changed since it was read.
 */
async function putShard(
  table: Table,
  input: RepoPath & { shard: Shard; epochRead: number | null },
): Promise<'put' | 'superseded'> {
  const { shard, epochRead } = input;
  const key = shardKey({ ...input, prefix: shard.prefix });
  const { ok } = await updateItem(table, {
    key,
    change: [setting(shardFields(shard)), shard.stale ? removing() : removing('stale')],
    condition: epochRead === null ? '(attribute_not_exists(#epoch) OR #epoch < :read)' : '#epoch = :read',
    values: { ':read': epochRead ?? shard.epoch },
  });
  if (ok) return 'put';
  const now = await getItem(table, key);
  // Refused, yet the epoch is ours: this was our own retry after a lost answer.
  return now?.['epoch'] === shard.epoch ? 'put' : 'superseded';
}

/** Removes a shard that is as it was read. `superseded`: it has changed, or is gone. */
async function removeShard(
  table: Table,
  input: RepoPath & { prefix: string; epochRead: number },
): Promise<'removed' | 'superseded'> {
  const { ok } = await deleteItem(table, {
    key: shardKey(input),
    condition: all(exists, '#epoch = :read'),
    values: { ':read': input.epochRead },
  });
  return ok ? 'removed' : 'superseded';
}
