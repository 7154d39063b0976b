import * as z from 'zod';
import type { Cleanup } from '../../domain/cleanup/cleanup.ts';
import type { RepoPath } from '../../domain/tenant.ts';
import type { Fields } from '../../table/expressions.ts';
import { dueKey, inKey, watchField } from './items.ts';

/** Clean-ups as items, and what batches note for them. */

const sum = z.object({ objectCount: z.number(), bytes: z.number() });

const selection = z.object({
  folder: z.string(),
  files: z.number(),
  seenAtMs: z.number(),
  chosenAtMs: z.number().optional(),
  listed: sum,
  kept: sum,
  young: sum,
  inUse: sum,
  reserved: sum.extend({ untilMs: z.number() }).optional(),
  candidates: sum,
  largest: z.array(z.object({ oid: z.string(), sizeBytes: z.number() })),
});

const cleanupItem = z.object({
  repo: z.string(),
  watch: watchField,
  state: z.enum(['watching', 'selecting', 'deleting', 'done', 'cancelled', 'expired']),
  version: z.number(),
  run: z
    .object({
      id: z.string(),
      requestedAtMs: z.number(),
      keepCount: z.number(),
      keepSha256: z.string(),
      isDryRun: z.boolean(),
      isForced: z.boolean(),
      minAgeMs: z.number(),
    })
    .nullable(),
  // Older versions choose all candidates in one step, and begin anew where this one is.
  selecting: z
    .object({ found: selection, after: z.array(z.string().nullable()), atMs: z.number() })
    .optional(),
  selection: selection.nullable(),
  failure: z
    .object({
      reason: z.enum(['no-keep-set', 'too-much', 'too-many-names', 'no-candidates']),
      message: z.string(),
    })
    .nullable(),
  progress: z.object({ file: z.number(), line: z.number(), deleted: sum }),
  dueAtMs: z.number().nullable(),
  endedAtMs: z.number().nullable(),
});

export const seenItem = z.object({ beganMs: z.number(), prefixes: z.string() });

export const goneItem = z.object({ oid: z.string(), goneAtMs: z.number() });

export const cleanupKey = (path: RepoPath) => ({
  pk: `TENANT#${path.tenant}`,
  sk: `CLEANUP#${inKey(path.repo)}`,
});

/** Beside the tenant's partition, which takes the writes of its counter. */
export const seenPartition = (tenant: string, watchId: string) => `SEEN#${tenant}#${watchId}`;
/** Times in a key have one length, so that they sort as numbers do. */
export const seenTime = (beganMs: number) => String(Math.max(0, Math.trunc(beganMs))).padStart(16, '0');

export const goneKey = ({ tenant, repo, oid }: RepoPath & { oid: string }) => ({
  pk: `GONE#${tenant}#${inKey(repo)}`,
  sk: oid,
});

/** A clean-up as an item. It is in the index as long as somebody has to look at it. */
export function cleanupFields(tenant: string, cleanup: Cleanup): Fields {
  const { repo, dueAtMs, selecting, ...others } = cleanup;
  return {
    ...cleanupKey({ tenant, repo }),
    ...(dueAtMs !== null && dueKey({ kind: 'DELETION', tenant, dueAtMs })),
    ...others,
    repo,
    dueAtMs,
    ...(selecting && { selecting }),
  };
}

/** @throws {ZodError} when the item is not that of a clean-up. */
export function parseCleanup(item: unknown): Cleanup {
  return cleanupItem.parse(item);
}
