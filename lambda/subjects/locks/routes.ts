import type { RepoPath } from '../../core/ledger/rules/tenant.ts';
import { json } from '../../frame/api/http.ts';
import { repoNotFound } from '../../frame/api/problems.ts';
import { encodeCursor, iso, pageSizeDefault } from '../../frame/contract/fields.ts';
import { seenRepo } from '../../frame/management/access.ts';
import { operationsFor } from '../../frame/management/operations.ts';
import { type FileLockBody, lockContract } from './contract.ts';
import type { LockPorts } from './ports.ts';
import { type FileLock, lockOwnerIdsOf, lockPageMax, ownerOfLock } from './rules/locks.ts';

type Needs = LockPorts;

export const lockOperations = operationsFor<Needs>()(lockContract, {
  /** By the hashes of their paths, a page at a time. A repo has locks before its first push, so any name has a list. */
  'GET /v1/tenants/{tenant}/repos/{repo}/locks': async (
    { locks },
    { tenant: { tenant }, token, query, event },
  ) => {
    const repo = seenRepo({ token }, event);
    if (repo === undefined) return repoNotFound(tenant);
    const { owner, path, cursor, limit = pageSizeDefault } = query;
    if (path !== undefined) {
      const lock = await findLock(locks, { tenant, repo, path, owner });
      return json(200, { locks: lock ? [fileLockBody(lock)] : [], nextCursor: null });
    }
    const page = await locks.listPage({
      tenant,
      repo,
      pageSize: limit,
      ...(cursor !== undefined && { after: cursor }),
      ...(owner !== undefined && { ownerIds: lockOwnerIdsOf(owner) }),
    });
    const nextCursor = page.next === null ? null : encodeCursor(page.next);
    return json(200, { locks: page.locks.map(fileLockBody), nextCursor });
  },

  /** As many as one request can release in time, whoever owns them. */
  'DELETE /v1/tenants/{tenant}/repos/{repo}/locks': async (
    deps,
    { tenant: { tenant }, token, query: { owner, path }, event, trail },
  ) => {
    const repo = seenRepo({ token }, event);
    if (repo === undefined) return repoNotFound(tenant);
    const place = { tenant, repo };
    const { paths, hasMore } =
      path === undefined
        ? await deps.locks.releaseSome({
            ...place,
            ...(owner !== undefined && { ownerIds: lockOwnerIdsOf(owner) }),
            locksMax: lockPageMax,
          })
        : { paths: await releasePath(deps.locks, { ...place, path, owner }), hasMore: false };
    const count = paths.length;
    trail.was({ paths });
    trail.became({ releasedCount: count, hasMore });
    if (count > 0) deps.log.info('locks released', { ...place, count, tokenId: token?.tokenId ?? 'admin' });
    return json(200, { ...place, releasedCount: count, hasMore });
  },
});

/** @returns of which files locks were released: of none, or one. */
async function releasePath(
  locks: LockPorts['locks'],
  input: RepoPath & { path: string; owner: string | undefined },
): Promise<readonly string[]> {
  const lock = await findLock(locks, input);
  const outcome = lock && (await locks.release({ ...input, lockId: lock.id }));
  return outcome?.kind === 'released' ? [outcome.lock.path] : [];
}

async function findLock(
  locks: LockPorts['locks'],
  { tenant, repo, path, owner }: RepoPath & { path: string; owner: string | undefined },
) {
  const lock = await locks.findFile({ tenant, repo, path });
  return lock && (owner === undefined || lockOwnerIdsOf(owner).includes(lock.ownerId)) ? lock : undefined;
}

function fileLockBody(lock: FileLock): FileLockBody {
  const { id, path, ownerName, lockedAtMs } = lock;
  return { id, path, owner: ownerOfLock(lock), ownerName, lockedAt: iso(lockedAtMs) };
}
