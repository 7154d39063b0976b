import {
  type FileLock,
  hashOfLockId,
  lockHashOf,
  lockSliceOf,
  locksPerSliceMax,
} from '../../../lambda/domain/lock.ts';
import type { RepoPath } from '../../../lambda/ports/ledger.ts';
import type { Locks } from '../../../lambda/ports/locks.ts';

interface Entry extends RepoPath {
  readonly hash: string;
  readonly lock: FileLock;
}

/** File locks in memory, for tests. */
export class MemoryLocks implements Locks {
  readonly #entries = new Map<string, Entry>();

  async take({ tenant, repo, lock }: RepoPath & { lock: FileLock }) {
    const hash = lockHashOf(lock.path);
    const known = this.#entries.get(keyOf({ tenant, repo, hash }));
    if (known?.lock.id === lock.id) return { kind: 'taken' as const };
    if (known) return { kind: 'held' as const, lock: known.lock };
    const slice = this.#sorted({ tenant, repo }).filter(
      (entry) => lockSliceOf(entry.hash) === lockSliceOf(hash),
    );
    if (slice.length >= locksPerSliceMax) return { kind: 'full' as const };
    this.#entries.set(keyOf({ tenant, repo, hash }), { tenant, repo, hash, lock });
    return { kind: 'taken' as const };
  }

  async hasAtLeast({ tenant, count }: { tenant: string; count: number }) {
    return [...this.#entries.values()].filter((entry) => entry.tenant === tenant).length >= count;
  }

  async find({ tenant, repo, hash }: RepoPath & { hash: string }) {
    return this.#entries.get(keyOf({ tenant, repo, hash }))?.lock;
  }

  async release(input: RepoPath & { lockId: string; ownerId?: string }) {
    const { tenant, repo, lockId, ownerId } = input;
    const key = keyOf({ tenant, repo, hash: hashOfLockId(lockId) });
    const lock = this.#entries.get(key)?.lock;
    if (lock?.id !== lockId) return { kind: 'absent' as const };
    if (ownerId !== undefined && lock.ownerId !== ownerId) return { kind: 'of-another' as const, lock };
    this.#entries.delete(key);
    return { kind: 'released' as const, lock };
  }

  async listPage(input: RepoPath & { pageSize: number; after?: string; ownerIds?: readonly string[] }) {
    const { tenant, repo, pageSize, after = '', ownerIds } = input;
    const left = this.#sorted({ tenant, repo, ...(ownerIds && { ownerIds }) }).filter(
      ({ hash }) => hash > after,
    );
    const page = left.slice(0, pageSize);
    return {
      locks: page.map(({ lock }) => lock),
      next: left.length > pageSize ? (page.at(-1)?.hash ?? null) : null,
    };
  }

  async releaseSome(input: {
    tenant: string;
    repo?: string;
    ownerIds?: readonly string[];
    locksMax: number;
  }) {
    const found = this.#sorted(input);
    const released = found.slice(0, input.locksMax);
    for (const entry of released) this.#entries.delete(keyOf(entry));
    return { count: released.length, hasMore: found.length > released.length };
  }

  #sorted(of: { tenant: string; repo?: string; ownerIds?: readonly string[] }): Entry[] {
    return [...this.#entries.values()]
      .filter(({ tenant, repo }) => tenant === of.tenant && repo === (of.repo ?? repo))
      .filter(({ lock }) => of.ownerIds?.includes(lock.ownerId) ?? true)
      .sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  }
}

const keyOf = ({ tenant, repo, hash }: RepoPath & { hash: string }) => `${tenant}/${repo}#${hash}`;
