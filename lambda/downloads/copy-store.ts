import { setting } from '../table/expressions.ts';
import {
  batchGet,
  deleteItem,
  firstItems,
  inPartition,
  putItem,
  type Table,
  updateItem,
} from '../table/requests.ts';
import { expiring } from '../table/table.ts';
import { type CopyNote, keptForMs } from './rules/copies.ts';

interface Place {
  readonly tenant: string;
  readonly repo: string;
}

const partitionOf = ({ tenant, repo }: Place) => `COPY#${tenant}#${repo}`;

/** An item as it was read. Its oid is its sort key. */
function noteOf(item: unknown): CopyNote {
  const { sk, untilMs, failed } = item as Readonly<Record<string, unknown>>;
  return { oid: String(sk), untilMs: Number(untilMs), failed: failed === undefined ? null : String(failed) };
}

/**
 * Who copies which object, on the ledger's table: an item for each, until it is copied. So many who pull the same at once
 * make one copy, and what isn't copied can be told. It removes itself a day after its URLs have expired.
 */
export function createDynamoDbCopies(table: Table) {
  return {
    /**
     * @param input.isAgain also what has failed. @returns false: it's being copied, or was tried a moment ago.
     * @throws {LedgerUnavailableError}
     */
    async claim(input: Place & { oid: string; nowMs: number; untilMs: number; isAgain?: boolean }) {
      const { oid, nowMs, untilMs, isAgain = false } = input;
      const key = { pk: partitionOf(input), sk: oid };
      const isOver = 'attribute_not_exists(#pk) OR #untilMs < :nowMs';
      const { ok } = await putItem(table, {
        item: { ...key, untilMs, ...expiring(untilMs + keptForMs) },
        condition: isAgain ? `${isOver} OR attribute_exists(#failed)` : isOver,
        values: { ':nowMs': nowMs },
      });
      return ok;
    },

    /** Notes what became of a copy. @param input.failed why it isn't tried any more. @throws {LedgerUnavailableError} */
    async end(input: Place & { oid: string; failed: string | undefined }): Promise<void> {
      const key = { pk: partitionOf(input), sk: input.oid };
      if (input.failed === undefined) await deleteItem(table, { key });
      else
        await updateItem(table, {
          key,
          condition: 'attribute_exists(#pk)',
          change: [setting({ failed: input.failed })],
        });
    },

    /** @returns oid → note, of those that have one. @throws {LedgerUnavailableError} */
    async find(input: Place & { oids: Iterable<string> }): Promise<ReadonlyMap<string, CopyNote>> {
      const pk = partitionOf(input);
      const items = await batchGet(
        table,
        [...input.oids].map((sk) => ({ pk, sk })),
      );
      return new Map(items.map(noteOf).map((note) => [note.oid, note]));
    },

    /** The notes of a repo, at most so many. @throws {LedgerUnavailableError} */
    async list(input: Place & { countMax: number }): Promise<readonly CopyNote[]> {
      const items = await firstItems(table, { ...inPartition(partitionOf(input)), Limit: input.countMax });
      return items.map(noteOf);
    },
  };
}

export type Copies = ReturnType<typeof createDynamoDbCopies>;
