import * as z from 'zod';
import { sha256Hex } from '../../../core/rules/hash.ts';
import type { Frozen } from '../../../core/rules/stored.ts';
import { isPlainText } from '../../../core/rules/text.ts';
import { type HostUser, nameOfHostUser } from '../../../frame/access/rules/host-user.ts';

/** File locks: who says that nobody else is to change a file, of one repo, on all of its branches. */

export const lockRecord = z.object({
  /** The path's hash and 12 random characters, so that a lock is found by its id, and no two locks share one. */
  id: z.string(),
  path: z.string(),
  /** Tokens of one user have the same. Whoever has it may release the lock. */
  ownerId: z.string(),
  /** What people are shown. */
  ownerName: z.string(),
  lockedAtMs: z.number(),
});
export type FileLock = Frozen<z.output<typeof lockRecord>>;

/** Hex digits of the path's SHA-256. */
const hashDigits = 40;
/** Random characters of an id. */
export const lockIdRandomLength = 12;

export const lockHashPattern = /^[0-9a-f]{40}$/;
export const lockIdPattern = /^[0-9a-f]{40}[0-9A-Za-z]{12}$/;

/** Characters of a path (code points). An answer with a full page of the longest fits into what Lambda may answer. */
export const lockPathCharactersMax = 1024;

/** Locks on a page, at most. */
export const lockPageMax = 1000;

/**
 * Locks of a repo whose hashes begin with the same {@link sliceDigits}. A repo is not counted as a whole, which would
 * make each lock of a large one read all others: hashes are even, so a slice tells. 10,000 locks always fit, and there
 * are never many more than 25,600.
 */
export const locksPerSliceMax = 100;

const sliceDigits = 2;

/** What tells the path's lock from the others of its repo. */
export function lockHashOf(path: string): string {
  return sha256Hex(path).slice(0, hashDigits);
}

/** The hash of the path in an id of the form {@link lockIdPattern}. */
export function hashOfLockId(lockId: string): string {
  return lockId.slice(0, hashDigits);
}

/** The slice of its repo that a lock is counted in: what its hash begins with. */
export function lockSliceOf(hash: string): string {
  return hash.slice(0, sliceDigits);
}

/**
 * How a file's path begins as git-lfs has it: from the root of the repo, with no empty segment, `.` or `..` anywhere. A lock
 * of any other would protect nothing. Older versions took them.
 */
export const lockPathStart = /^(?![A-Za-z]:[\\/])(?!(?:.*[\\/])?\.{0,2}(?:[\\/]|$))/;

/** The path of the file that a client means: on Windows, some tools send backslashes. */
export const lockPathOf = (text: string) => text.replaceAll('\\', '/');

/** True for 1 to {@link lockPathCharactersMax} characters, all of them plain. */
export function isShownPath(text: string): boolean {
  return text !== '' && [...text].length <= lockPathCharactersMax && isPlainText(text);
}

/**
 * Who owns what somebody locks: the person for whom a git host vouches, the user of a token, or the token itself if nobody
 * said whom it stands for. None of them is ever taken for another, whatever they are called. The name that a client sends
 * with HTTP Basic is not asked: anybody can choose it.
 */
export function lockOwnerOf(token: {
  readonly tokenId: string;
  readonly user: string | null;
  readonly label: string | null;
  readonly hostUser?: HostUser | undefined;
}): Pick<FileLock, 'ownerId' | 'ownerName'> {
  const { tokenId, user, label, hostUser } = token;
  if (hostUser) return { ownerId: `person:${hostUser.id}`, ownerName: nameOfHostUser(hostUser) };
  if (user !== null) return { ownerId: `user:${user}`, ownerName: user };
  return { ownerId: `token:${tokenId}`, ownerName: label ?? `token ${tokenId.slice(0, 4)}…` };
}

/** The ids of owners that a user's name, or the id of a token or person, may mean. */
export function lockOwnerIdsOf(owner: string): readonly string[] {
  return [`user:${owner}`, `token:${owner}`, `person:${owner}`];
}

/** The user, or the id of the token or person, that an owner's id is made of. */
export function ownerOfLock({ ownerId }: Pick<FileLock, 'ownerId'>): string {
  return ownerId.slice(ownerId.indexOf(':') + 1);
}
