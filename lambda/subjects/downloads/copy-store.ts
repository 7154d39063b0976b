import * as z from 'zod';
import { exists } from '../../core/table/expressions.ts';
import { recordsOf } from '../../core/table/records.ts';
import { inPartition, putItem, type Table } from '../../core/table/requests.ts';
import { expiring } from '../../core/table/table.ts';
import { type CopyNote, keptForMs } from './rules/copies.ts';

interface Place {
  readonly tenant: string;
  readonly repo: string;
}

const partitionOf = ({ tenant, repo }: Place) => `COPY#${tenant}#${repo}`;

const notes = recordsOf<Place & { oid: string }, CopyNote>({
  keyOf: (key) => ({ pk: partitionOf(key), sk: key.oid }),
  schema: z
    .object({ sk: z.string(), untilMs: z.number(), failed: z.string().optional() })
    .transform(({ sk: oid, untilMs, failed = null }) => ({ oid, untilMs, failed })),
});

/**
 * Who copies which object, on the ledger's table: an item for each, until it is copied. So many who pull the same at once
 * make one copy, and what isn't copied can be told. It removes itself a day after its URLs have expired.
 */
export function createDynamoDbCopies(table: Table) {
  return {
    /** @param input.isAgain also what has failed. @returns false: it's being copied, or was tried a moment ago. */
    async claim(input: Place & { oid: string; nowMs: number; untilMs: number; isAgain?: boolean }) {
      const { nowMs, untilMs, isAgain = false } = input;
      const isOver = 'attribute_not_exists(#pk) OR #untilMs < :nowMs';
      const { ok } = await putItem(table, {
        item: { ...notes.keyOf(input), untilMs, ...expiring(untilMs + keptForMs) },
        condition: isAgain ? `${isOver} OR attribute_exists(#failed)` : isOver,
        values: { ':nowMs': nowMs },
      });
      return ok;
    },

    /** Notes what became of a copy. @param input.failed why it isn't tried any more. */
    async end({ failed, ...key }: Place & { oid: string; failed: string | undefined }): Promise<void> {
      if (failed === undefined) await notes.remove(table, key);
      else await notes.set(table, key, { failed }, { condition: exists });
    },

    /** @returns oid → note, of those that have one. */
    async find({
      oids,
      ...place
    }: Place & { oids: Iterable<string> }): Promise<ReadonlyMap<string, CopyNote>> {
      const found = await notes.readSome(
        table,
        Array.from(oids, (oid) => ({ ...place, oid })),
      );
      return new Map(found.map((note) => [note.oid, note]));
    },

    /** The notes of a repo, at most so many. */
    list: ({ countMax, ...place }: Place & { countMax: number }) =>
      notes.first(table, { ...inPartition(partitionOf(place)), Limit: countMax }),
  };
}

export type Copies = ReturnType<typeof createDynamoDbCopies>;
