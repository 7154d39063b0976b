import * as z from 'zod';
import { dueKey, inKey, watchField } from '../ledger/items.ts';
import type { RepoPath } from '../ledger/rules/tenant.ts';
import { absent, type Fields } from '../table/expressions.ts';
import { getItem, methodsOn, putItem, type Table } from '../table/requests.ts';
import { expiring } from '../table/table.ts';
import type { Gc } from './rules/gc.ts';

/** GC runs as items. */
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

const gcItem = z.object({
  repo: z.string(),
  watch: watchField,
  state: z.enum(['watching', 'selecting', 'deleting', 'done', 'cancelled', 'expired']),
  version: z.number(),
  run: z
    .object({
      id: z.string(),
      requestedAtMs: z.number(),
      reachableCount: z.number(),
      reachableSha256: z.string(),
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
      reason: z.enum(['no-reachable-set', 'too-much', 'too-many-names', 'no-candidates']),
      message: z.string(),
    })
    .nullable(),
  progress: z.object({ file: z.number(), line: z.number(), deleted: sum }),
  set: z.object({ bytes: z.number(), untilMs: z.number() }).optional(),
  dueAtMs: z.number().nullable(),
  endedAtMs: z.number().nullable(),
});

const gcKey = (path: RepoPath) => ({
  pk: `TENANT#${path.tenant}`,
  sk: `CLEANUP#${inKey(path.repo)}`,
});

/** Somebody can look at the last run of a repo for so long. */
const endedKeptMs = 90 * 24 * 60 * 60_000;

/** A gc run as an item. It is in the index as long as somebody has to look at it. */
function gcFields(tenant: string, gc: Gc): Fields {
  const { repo, dueAtMs, endedAtMs, selecting, set, ...others } = gc;
  return {
    ...gcKey({ tenant, repo }),
    ...(dueAtMs !== null && dueKey({ kind: 'DELETION', tenant, dueAtMs })),
    ...others,
    repo,
    dueAtMs,
    endedAtMs,
    // Nothing is left to be done for it: it only says what it did.
    ...(dueAtMs === null && endedAtMs !== null && expiring(endedAtMs + endedKeptMs)),
    ...(selecting && { selecting }),
    ...(set && { set }),
  };
}

/** @throws {ZodError} when the item is not that of a gc run. */
function parseGc(item: unknown): Gc {
  return gcItem.parse(item);
}

/** GC runs of what no ref needs (docs/how-it-works.md). */
export function createDynamoDbGcRuns(table: Table) {
  return methodsOn(table, { read, put });
}

export type GcRuns = ReturnType<typeof createDynamoDbGcRuns>;

async function read(table: Table, path: RepoPath): Promise<Gc | undefined> {
  const item = await getItem(table, gcKey(path));
  return item && parseGc(item);
}

/**
 * Writes a gc run over the version that was read, and counts its version. Its tenant is due at its `dueAtMs`.
 *
 * @param input.versionRead null: there is none yet. The repo's last one is replaced by the next.
 * @returns undefined if it has changed since.
 */
async function put(
  table: Table,
  input: {
    tenant: string;
    gc: Gc;
    versionRead: number | null;
    /** Random: the same one again is our own retry, and answers the same. */
    writeId: string;
  },
): Promise<Gc | undefined> {
  const { tenant, versionRead, writeId } = input;
  const gc = { ...input.gc, version: (versionRead ?? 0) + 1 };
  const { ok } = await putItem(table, {
    item: { ...gcFields(tenant, gc), writeId },
    condition: versionRead === null ? absent : '#version = :versionRead',
    values: { ':versionRead': versionRead ?? undefined },
  });
  if (ok) return gc;
  // Refused, yet it is there: this was our own retry after a lost answer.
  const now = await getItem(table, gcKey({ tenant, repo: gc.repo }));
  return now?.['writeId'] === writeId ? parseGc(now) : undefined;
}
