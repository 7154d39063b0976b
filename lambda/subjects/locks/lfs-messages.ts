import { plainText } from '../../core/rules/text.ts';

/** A lock as people read it: `ada locked a.bin on 2026-11-21 at 05:00 UTC.` */
export function lockedBy(lock: { ownerName: string; path: string; lockedAtMs: number }): string {
  const [date = '', time = ''] = new Date(lock.lockedAtMs).toISOString().slice(0, 16).split('T');
  return plainText(`${lock.ownerName} locked ${lock.path} on ${date} at ${time} UTC.`);
}

/** 403 for an unlock of another user's lock. */
export function lockOfAnother(lock: { ownerName: string; path: string; lockedAtMs: number }): string {
  const { ownerName, path } = lock;
  return `${lockedBy(lock)} ${plainText(`Ask ${ownerName} to unlock it, or run: git lfs unlock --force ${path}`)}`;
}

/** 404 of an unlock. */
export const lockNotFound = 'Lock not found: it was released, or another one was taken since.';

/** 403 for one lock too many. */
export const tooManyLocks = "This repo has reached its maximum of locks. Unlock files you're done with.";

/** 403 for a lock in a repo without a push, once the tenant has many of those. */
export function repoForLockMissing(tenant: string, repo: string): string {
  return `${tenant}/${repo} doesn't exist yet, and ${tenant} has too many locks to add one. Push to it first.`;
}

/** An error of a client, not of its user. */
export const invalidLock = (issue: string) => `Invalid lock request: ${issue}.`;
