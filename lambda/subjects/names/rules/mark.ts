import * as z from 'zod';
import type { RepoPath } from '../../../core/ledger/rules/tenant.ts';
import { sha256Hex } from '../../../core/rules/hash.ts';
import { ownFolders } from '../../../core/store/rules/own-folders.ts';
import type { RepoMark } from '../../../frame/access/rules/repo-mark.ts';

/** Repos of a tenant that have names, at most, and what they take in the store. */
export const namedReposMax = 1000;
export const namesOfTenantBytesMax = 1024 ** 3;

export const namesSchema = z.object({
  sinceMs: z.number(),
  /** Of the largest file since there are any. */
  bytes: z.number(),
  /** Of the file that a URL was signed for last. Any other one at the key is none of the repo's. */
  sha256: z.string(),
  /** Until then, a PUT of a file may still end. */
  untilMs: z.number(),
  /** Every token of the repo sees them. Absent: only those that manage the tenant. */
  forReaders: z.boolean().optional(),
});

/** That a repo has names, and who sees them. */
export type NamesMark = RepoMark & Readonly<z.output<typeof namesSchema>>;

/**
 * A repo has one place for its names: the next file replaces the last. What an old URL brings isn't the one that the mark says,
 * so it's never shown.
 */
export const namesKey = ({ tenant, repo }: RepoPath) => `${ownFolders.names}/${tenant}/${sha256Hex(repo)}`;
