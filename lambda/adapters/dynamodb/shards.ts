import type { Input, Output, ShardLedger } from '../../ports/ledger.ts';
import { adding, all, atVersion, exists, removing, setting } from './expressions.ts';
import { parseRepo, parseShard, repoKey, shardFields, shardKey, shardPartition } from './items.ts';
import { pagesOf } from './pages.ts';
import { neverScanned } from './repos.ts';
import { deleteItem, getItem, type Table, updateItem } from './requests.ts';
import { keyNames } from './table.ts';

/** Shards of giant repos. */
export function shardMethods(table: Table): ShardLedger {
  return {
    beginGiant: (input) => beginGiant(table, input),
    noteProgress: (input) => noteProgress(table, input),
    clearDirty: (input) => clearDirty(table, input),
    steerCount: (input) => steerCount(table, input),
    endTidy: (input) => endTidy(table, input),
    shards: (path) => shards(table, path),
    putShard: (input) => putShard(table, input),
    removeShard: (input) => removeShard(table, input),
  };
}

async function beginGiant(table: Table, input: Input<'beginGiant'>): Output<'beginGiant'> {
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

async function clearDirty(table: Table, input: Input<'clearDirty'>): Output<'clearDirty'> {
  await updateItem(table, {
    key: repoKey(input),
    change: [removing('dirtyToken')],
    condition: '#dirtyToken = :read',
    values: { ':read': input.dirtyToken },
  });
}

async function endTidy(table: Table, input: Input<'endTidy'>): Output<'endTidy'> {
  await updateItem(table, {
    key: repoKey(input),
    change: [removing('tidyBelowEpoch')],
    condition: '#tidyBelowEpoch = :read',
    values: { ':read': input.tidyBelowEpoch },
  });
}

async function noteProgress(table: Table, input: Input<'noteProgress'>): Output<'noteProgress'> {
  const { sinceEpoch, progress } = input;
  await updateItem(table, {
    key: repoKey(input),
    change: [setting({ giant: { sinceEpoch, recountFromMs: 0, isFirstCount: true, progress } })],
    condition: all('#giant.#isFirstCount = :true', '#giant.#sinceEpoch = :since'),
    values: { ':true': true, ':since': sinceEpoch },
  });
}

async function steerCount(table: Table, input: Input<'steerCount'>): Output<'steerCount'> {
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

async function* shards(table: Table, path: Input<'shards'>): Output<'shards'> {
  const pages = pagesOf(table, {
    KeyConditionExpression: '#pk = :pk',
    ExpressionAttributeNames: { '#pk': keyNames.pk },
    ExpressionAttributeValues: { ':pk': shardPartition(path) },
    ConsistentRead: true,
  });
  for await (const items of pages) yield items.map(parseShard);
}

async function putShard(table: Table, input: Input<'putShard'>): Output<'putShard'> {
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

async function removeShard(table: Table, input: Input<'removeShard'>): Output<'removeShard'> {
  const { ok } = await deleteItem(table, {
    key: shardKey(input),
    condition: all(exists, '#epoch = :read'),
    values: { ':read': input.epochRead },
  });
  return ok ? 'removed' : 'superseded';
}
