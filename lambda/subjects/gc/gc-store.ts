import { dueKey, inKey } from '../../core/ledger/items.ts';
import type { RepoPath } from '../../core/ledger/rules/tenant.ts';
import { absent, type Fields } from '../../core/table/expressions.ts';
import { recordsOf } from '../../core/table/records.ts';
import { getItem, methodsOn, putItem, type Table } from '../../core/table/requests.ts';
import { expiring } from '../../core/table/table.ts';
import { type Gc, gcSchema } from './rules/gc.ts';

/** Somebody can look at the last run of a repo for so long. */
const endedKeptMs = 90 * 24 * 60 * 60_000;

/** A gc run as an item. It is in the index as long as somebody has to look at it. */
function gcFields(tenant: string, gc: Gc): Fields {
  const { repo, dueAtMs, endedAtMs, selecting, set, ...others } = gc;
  return {
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

const records = recordsOf<RepoPath, Gc>({
  keyOf: ({ tenant, repo }) => ({ pk: `TENANT#${tenant}`, sk: `CLEANUP#${inKey(repo)}` }),
  schema: gcSchema,
});

/** GC runs of what no ref needs (docs/how-it-works.md). */
export function createDynamoDbGcRuns(table: Table) {
  return methodsOn(table, { read: records.read, put });
}

export type GcRuns = ReturnType<typeof createDynamoDbGcRuns>;

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
  const key = records.keyOf({ tenant, repo: input.gc.repo });
  const gc = { ...input.gc, version: (versionRead ?? 0) + 1 };
  const { ok } = await putItem(table, {
    item: { ...key, ...gcFields(tenant, gc), writeId },
    condition: versionRead === null ? absent : '#version = :versionRead',
    values: { ':versionRead': versionRead ?? undefined },
  });
  if (ok) return gc;
  // Refused, yet it is there: this was our own retry after a lost answer.
  const now = await getItem(table, key);
  return now?.['writeId'] === writeId ? gcSchema.parse(now) : undefined;
}
