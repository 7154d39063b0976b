import type { Shard } from '../../domain/giant/shard.ts';
import type { CountProgress, RepoPath } from '../../domain/tenant.ts';
import { adding, all, atVersion, exists, removing, setting } from '../../table/expressions.ts';
import { deleteItem, getItem, methodsOn, pagesOf, type Table, updateItem } from '../../table/requests.ts';
import { keyNames } from '../../table/table.ts';
import { parseRepo, parseShard, repoKey, shardFields, shardKey, shardPartition } from './items.ts';
import { neverScanned } from './repos.ts';

/** Shards of giant repos. Only a reconcile writes them, and only over what it has read. */
export function shardMethods(table: Table) {
  return methodsOn(table, {
    beginGiant,
    noteProgress,
    clearDirty,
    steerCount,
    endTidy,
    shards,
    putShard,
    removeShard,
  });
}

/**
 * Marks a repo as a giant whose first count begins: the epoch is its `sinceEpoch`. A repo that the ledger does not know
 * gets an item. `superseded`: it was counted in this epoch or a later one, or is a giant already.
 */
async function beginGiant(
  table: Table,
  input: RepoPath & { epoch: number },
): Promise<'begun' | 'superseded'> {
  const { repo, epoch } = input;
  const key = repoKey(input);
  const giant = { sinceEpoch: epoch, recountFromMs: 0, isFirstCount: true };
  const { ok } = await updateItem(table, {
    key,
    change: [setting({ repo, giant }, { defaults: neverScanned })],
    condition: all('attribute_not_exists(#giant)', '(attribute_not_exists(#epoch) OR #epoch < :new)'),
    values: { ':new': epoch },
  });
  if (ok) return 'begun';
  const now = await getItem(table, key);
  // Refused, yet the epoch is ours: this was our own retry after a lost answer.
  return now && parseRepo(now).giant?.sinceEpoch === epoch ? 'begun' : 'superseded';
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

/** Notes that the shards of a repo that is a giant no longer are removed, if it says so as it was read. */
async function endTidy(table: Table, input: RepoPath & { tidyBelowEpoch: number }): Promise<void> {
  await updateItem(table, {
    key: repoKey(input),
    change: [removing('tidyBelowEpoch')],
    condition: '#tidyBelowEpoch = :read',
    values: { ':read': input.tidyBelowEpoch },
  });
}

/** Says how far a first count is, unless it has ended. */
async function noteProgress(
  table: Table,
  input: RepoPath & { sinceEpoch: number; progress: CountProgress },
): Promise<void> {
  const { sinceEpoch, progress } = input;
  await updateItem(table, {
    key: repoKey(input),
    change: [setting({ giant: { sinceEpoch, recountFromMs: 0, isFirstCount: true, progress } })],
    condition: all('#giant.#isFirstCount = :true', '#giant.#sinceEpoch = :since'),
    values: { ':true': true, ':since': sinceEpoch },
  });
}

/**
 * Pauses the scans of a giant's shards, resumes them (null), or gives up a recount. `refused`: it is no giant, or
 * somebody has done so since it was read (`steeringVersion`, 0 if it has none).
 */
async function steerCount(
  table: Table,
  input: RepoPath & { steeringVersion: number } & ({ pausedAtMs: number | null } | { cancelledAtMs: number }),
): Promise<'done' | 'refused'> {
  const { steeringVersion } = input;
  const { ok } = await updateItem(table, {
    key: repoKey(input),
    change: [
      'cancelledAtMs' in input
        ? setting({ countCancelledAtMs: input.cancelledAtMs })
        : input.pausedAtMs === null
          ? removing('countPausedAtMs')
          : setting({ countPausedAtMs: input.pausedAtMs }),
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
