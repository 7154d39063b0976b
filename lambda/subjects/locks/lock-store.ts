import type { RepoPath } from '../../core/ledger/rules/tenant.ts';
import { absent, all } from '../../core/table/expressions.ts';
import { pageOf, recordsOf, removeSome } from '../../core/table/records.ts';
import {
  firstItems,
  inPartition,
  methodsOn,
  putItem,
  type Table,
  untilWritten,
} from '../../core/table/requests.ts';
import type { Query } from '../../core/table/table.ts';
import {
  type FileLock,
  hashOfLockId,
  lockHashOf,
  lockPathOf,
  lockRecord,
  lockSliceOf,
  locksPerSliceMax,
} from './rules/locks.ts';

const partition = (tenant: string) => `LOCKS#${tenant}`;
const records = recordsOf<RepoPath & { hash: string }, FileLock>({
  keyOf: ({ tenant, repo, hash }) => ({ pk: partition(tenant), sk: `${repo}#${hash}` }),
  schema: lockRecord,
});

export type TakeOutcome =
  | { readonly kind: 'taken' }
  /** Somebody has locked that path, perhaps the same owner. */
  | { readonly kind: 'held'; readonly lock: FileLock }
  /** The repo has as many locks as it can have. */
  | { readonly kind: 'full' };

export type ReleaseOutcome =
  | { readonly kind: 'released'; readonly lock: FileLock }
  | { readonly kind: 'of-another'; readonly lock: FileLock }
  /** There is none with that id, or not any more. */
  | { readonly kind: 'absent' };

/**
 * The file locks of tenants, on the ledger's table, in a partition of their own for each tenant. The path is in the key, so
 * that one conditional write takes a lock, and the id in the item, so that one releases it and no later one. Reads are
 * strongly consistent, and every method throws {@link LedgerUnavailableError}.
 */
export function createDynamoDbLocks(table: Table) {
  return methodsOn(table, { take, hasAtLeast, find: records.read, findFile, release, listPage, releaseSome });
}

export type Locks = ReturnType<typeof createDynamoDbLocks>;

/**
 * Locks a path. Of many who try at the same time one succeeds, and the others are told who has it.
 *
 * Writes the lock, and at the same time reads those that it is counted with. To read them first would make everybody
 * wait for the sake of a bound that hardly any repo reaches: who finds it reached takes the lock back.
 */
async function take(
  table: Table,
  { tenant, repo, lock }: RepoPath & { lock: FileLock },
): Promise<TakeOutcome> {
  const place = { tenant, repo, hash: lockHashOf(lock.path) };
  const put = async () =>
    (await putItem(table, { item: { ...records.keyOf(place), ...lock }, condition: absent })).ok;
  const [isWritten, slice] = await Promise.all([
    put(),
    records.first(table, { ...sliceOf(place), Limit: locksPerSliceMax + 1 }),
  ]);
  const held = isWritten ? undefined : await holder(table, { ...place, lock, put });
  if (held) return { kind: 'held', lock: held };
  const others = slice.filter(({ id }) => hashOfLockId(id) !== place.hash);
  if (others.length < locksPerSliceMax) return { kind: 'taken' };
  await release(table, { tenant, repo, lockId: lock.id });
  return { kind: 'full' };
}

/** Whether a tenant has as many locks as this, in all of its repos. */
async function hasAtLeast(
  table: Table,
  { tenant, count }: { tenant: string; count: number },
): Promise<boolean> {
  return (await firstItems(table, { ...locksOfTenant(tenant), Limit: count })).length >= count;
}

/** Who has the lock that could not be written. undefined: it is written after all. */
function holder(
  table: Table,
  { lock, put, ...place }: RepoPath & { lock: FileLock; hash: string; put: () => Promise<boolean> },
): Promise<FileLock | undefined> {
  return untilWritten<FileLock | undefined>(table, async () => {
    const found = await records.read(table, place);
    // A retry of our own, after a lost answer, finds our own lock.
    if (found) return { result: found.id === lock.id ? undefined : found };
    // Released in between: again.
    return (await put()) ? { result: undefined } : undefined;
  });
}

/** The lock of a file. Older versions stored a path with its backslashes. */
async function findFile(
  table: Table,
  { path, ...place }: RepoPath & { path: string },
): Promise<FileLock | undefined> {
  const findAt = (text: string) => records.read(table, { ...place, hash: lockHashOf(text) });
  return (await findAt(lockPathOf(path))) ?? (path.includes('\\') ? findAt(path) : undefined);
}

/**
 * Releases the lock with this id, and no later one of the same path.
 *
 * @param input.ownerId who must own it. Without it: whoever does.
 */
async function release(
  table: Table,
  { lockId, ownerId, ...path }: RepoPath & { lockId: string; ownerId?: string },
): Promise<ReleaseOutcome> {
  const place = { ...path, hash: hashOfLockId(lockId) };
  const released = await records.take(table, place, {
    condition: ownerId === undefined ? '#id = :id' : all('#id = :id', '#ownerId = :ownerId'),
    values: { ':id': lockId, ':ownerId': ownerId },
  });
  if (released) return { kind: 'released', lock: released };
  const lock = await records.read(table, place);
  return lock?.id === lockId ? { kind: 'of-another', lock } : { kind: 'absent' };
}

/**
 * Locks by the hashes of their paths.
 *
 * @param input.after a path's hash. Default: from the first on.
 * @param input.ownerIds only the locks of these owners.
 * @returns next: the hash after which the next page begins. null: this is the last one.
 */
async function listPage(
  table: Table,
  {
    pageSize,
    ownerIds,
    ...place
  }: RepoPath & { pageSize: number; after?: string; ownerIds?: readonly string[] },
): Promise<{ readonly locks: readonly FileLock[]; readonly next: string | null }> {
  // One more than the page, to know whether another follows.
  const query = { ...ofOwners(locksAfter(place), ownerIds), Limit: pageSize + 1 };
  const { page, last } = pageOf(await records.first(table, query), pageSize);
  return { locks: page, next: last ? hashOfLockId(last.id) : null };
}

/**
 * Releases locks of a repo, or of a whole tenant, whoever owns them.
 *
 * @param input.locksMax releases no more than this.
 * @returns how many were released, of which files, and whether others are left.
 */
async function releaseSome(
  table: Table,
  input: { tenant: string; repo?: string; ownerIds?: readonly string[]; locksMax: number },
): Promise<{ count: number; paths: readonly string[]; hasMore: boolean }> {
  const { tenant, repo, ownerIds, locksMax } = input;
  const range = repo === undefined ? locksOfTenant(tenant) : locksAfter({ tenant, repo });
  const { removed, hasMore } = await removeSome(table, ofOwners(range, ownerIds), {
    max: locksMax,
    ifOf: ({ id }) => ({ condition: '#id = :id', values: { ':id': id } }),
  });
  return { count: removed.length, paths: removed.map(({ path }) => String(path)), hasMore };
}

/** The locks of a repo by their hashes, after one of them. */
function locksAfter({ tenant, repo, after }: RepoPath & { after?: string }) {
  // `$` is the character after `#`. A lock that is at `after` is before the first one that is found.
  const from = after === undefined ? `${repo}#` : `${repo}#${after}\u0000`;
  return inPartition(partition(tenant), { from, to: `${repo}$` });
}

/** The locks that are counted together with this one. `g` is after every hex digit. */
function sliceOf({ tenant, repo, hash }: RepoPath & { hash: string }) {
  const from = `${repo}#${lockSliceOf(hash)}`;
  return inPartition(partition(tenant), { from, to: `${from}g` });
}

const locksOfTenant = (tenant: string) => inPartition(partition(tenant));

/** What a query finds of these owners. undefined: of all. */
function ofOwners(query: Query, ownerIds: readonly string[] | undefined): Query {
  if (ownerIds === undefined) return query;
  const values = Object.fromEntries(ownerIds.map((ownerId, index) => [`:owner${index}`, ownerId]));
  return {
    ...query,
    FilterExpression: `#ownerId IN (${Object.keys(values).join(', ')})`,
    ExpressionAttributeNames: { ...query.ExpressionAttributeNames, '#ownerId': 'ownerId' },
    ExpressionAttributeValues: { ...query.ExpressionAttributeValues, ...values },
  };
}
