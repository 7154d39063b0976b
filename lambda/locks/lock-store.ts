import * as z from 'zod';
import type { RepoPath } from '../ledger/rules/tenant.ts';
import { forEachLimited } from '../rules/async.ts';
import { absent, all } from '../table/expressions.ts';
import {
  deleteItem,
  firstItems,
  getItem,
  inPartition,
  methodsOn,
  putItem,
  type Table,
  untilWritten,
} from '../table/requests.ts';
import { keyNames, type Query } from '../table/table.ts';
import {
  type FileLock,
  hashOfLockId,
  lockHashOf,
  lockPathOf,
  lockSliceOf,
  locksPerSliceMax,
} from './rules/locks.ts';

const lockItem = z.object({
  id: z.string(),
  path: z.string(),
  ownerId: z.string(),
  ownerName: z.string(),
  lockedAtMs: z.number(),
});

/** Locks of one request that are released at a time. */
const releasesAtOnce = 16;

const partition = (tenant: string) => `LOCKS#${tenant}`;
const lockKey = ({ tenant, repo }: RepoPath, hash: string) => ({
  pk: partition(tenant),
  sk: `${repo}#${hash}`,
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

interface LockPage {
  /** By the hashes of their paths. */
  readonly locks: readonly FileLock[];
  /** The hash after which the next page begins. null: this is the last page. */
  readonly next: string | null;
}

/**
 * The file locks of tenants, on the ledger's table, in a partition of their own for each tenant. The path is in the key, so
 * that one conditional write takes a lock, and the id in the item, so that one releases it and no later one. Reads are
 * strongly consistent, and every method throws {@link LedgerUnavailableError}.
 */
export function createDynamoDbLocks(table: Table) {
  return methodsOn(table, { take, hasAtLeast, find, findFile, release, listPage, releaseSome });
}

export type Locks = ReturnType<typeof createDynamoDbLocks>;

/**
 * Locks a path. Of many who try at the same time one succeeds, and the others are told who has it.
 *
 * Writes the lock, and at the same time reads those that it is counted with. To read them first would make everybody
 * wait for the sake of a bound that hardly any repo reaches: who finds it reached takes the lock back.
 */
async function take(table: Table, input: RepoPath & { lock: FileLock }): Promise<TakeOutcome> {
  const { lock } = input;
  const hash = lockHashOf(lock.path);
  const item = { ...lockKey(input, hash), ...lock };
  const put = async () => (await putItem(table, { item, condition: absent })).ok;
  const [isWritten, slice] = await Promise.all([
    put(),
    firstLocks(table, sliceOf(input, hash), locksPerSliceMax + 1),
  ]);
  const held = isWritten ? undefined : await holder(table, { ...input, hash, put });
  if (held) return { kind: 'held', lock: held };
  const others = slice.filter(({ id }) => hashOfLockId(id) !== hash);
  if (others.length < locksPerSliceMax) return { kind: 'taken' };
  await release(table, { ...input, lockId: lock.id });
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
async function holder(
  table: Table,
  input: RepoPath & { lock: FileLock; hash: string; put: () => Promise<boolean> },
): Promise<FileLock | undefined> {
  return await untilWritten<FileLock | undefined>(table, async () => {
    const found = await find(table, input);
    // A retry of our own, after a lost answer, finds our own lock.
    if (found) return { result: found.id === input.lock.id ? undefined : found };
    // Released in between: again.
    return (await input.put()) ? { result: undefined } : undefined;
  });
}

/** @param input.hash of a path. */
async function find(table: Table, input: RepoPath & { hash: string }): Promise<FileLock | undefined> {
  const item = await getItem(table, lockKey(input, input.hash));
  return item && lockItem.parse(item);
}

/** The lock of a file. Older versions stored a path with its backslashes. */
async function findFile(
  table: Table,
  { path, ...place }: RepoPath & { path: string },
): Promise<FileLock | undefined> {
  const findAt = (text: string) => find(table, { ...place, hash: lockHashOf(text) });
  return (await findAt(lockPathOf(path))) ?? (path.includes('\\') ? findAt(path) : undefined);
}

/**
 * Releases the lock with this id, and no later one of the same path.
 *
 * @param input.ownerId who must own it. Without it: whoever does.
 */
async function release(
  table: Table,
  input: RepoPath & { lockId: string; ownerId?: string },
): Promise<ReleaseOutcome> {
  const { lockId, ownerId } = input;
  const hash = hashOfLockId(lockId);
  const result = await deleteItem(table, {
    key: lockKey(input, hash),
    condition: ownerId === undefined ? '#id = :id' : all('#id = :id', '#ownerId = :ownerId'),
    values: { ':id': lockId, ':ownerId': ownerId },
    returns: 'ALL_OLD',
  });
  if (result.ok) return { kind: 'released', lock: lockItem.parse(result.attributes) };
  const lock = await find(table, { ...input, hash });
  return lock?.id === lockId ? { kind: 'of-another', lock } : { kind: 'absent' };
}

/**
 * @param input.after a path's hash. Default: from the first on.
 * @param input.ownerIds only the locks of these owners.
 */
async function listPage(
  table: Table,
  input: RepoPath & { pageSize: number; after?: string; ownerIds?: readonly string[] },
): Promise<LockPage> {
  // One more than the page, to know whether another follows.
  const locks = await firstLocks(table, ofOwners(locksAfter(input), input.ownerIds), input.pageSize + 1);
  const page = locks.slice(0, input.pageSize);
  const last = locks.length > input.pageSize ? page.at(-1) : undefined;
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
  const items = await firstItems(table, { ...ofOwners(range, ownerIds), Limit: locksMax + 1 });
  const paths: string[] = [];
  await forEachLimited(items.slice(0, locksMax), releasesAtOnce, async (item) => {
    const key = { pk: String(item[keyNames.pk]), sk: String(item[keyNames.sk]) };
    const values = { ':id': item['id'] };
    if ((await deleteItem(table, { key, condition: '#id = :id', values })).ok)
      paths.push(String(item['path']));
  });
  return { count: paths.length, paths, hasMore: items.length > locksMax };
}

async function firstLocks(table: Table, query: Query, countMax: number): Promise<FileLock[]> {
  return (await firstItems(table, { ...query, Limit: countMax })).map((item) => lockItem.parse(item));
}

/** The locks of a repo by their hashes, after one of them. */
function locksAfter({ tenant, repo, after }: RepoPath & { after?: string }) {
  // `$` is the character after `#`. A lock that is at `after` is before the first one that is found.
  const from = after === undefined ? `${repo}#` : `${repo}#${after}\u0000`;
  return inPartition(partition(tenant), { from, to: `${repo}$` });
}

/** The locks that are counted together with this one. `g` is after every hex digit. */
function sliceOf({ tenant, repo }: RepoPath, hash: string) {
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
