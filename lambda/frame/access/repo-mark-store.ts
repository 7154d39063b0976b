import * as z from 'zod';
import type { RepoPath } from '../../core/ledger/rules/tenant.ts';
import { type Belongings, endsAtOnce } from '../../core/ledger/seams.ts';
import { mapLimited } from '../../core/rules/async.ts';
import type { Clock } from '../../core/rules/clock-and-log.ts';
import { changeItem, firstItems, getItem, inPartition, type Table } from '../../core/table/requests.ts';
import { expiring, expiryAttribute } from '../../core/table/table.ts';
import type { RepoMark } from './rules/repo-mark.ts';

/** After it has ended, an item stays for so long: no write lands later. */
const endedKeptMs = 24 * 60 * 60_000;

/** What an item has of it beside the repo's name. */
type FieldsOf<M extends RepoMark> = Omit<M, 'repo'>;

/** How the marks of a kind are stored. */
interface MarkKind<M extends RepoMark> {
  readonly partition: (tenant: string) => string;
  /** The attribute that has it. It is absent once it has ended. */
  readonly field: string;
  readonly fields: z.ZodType<FieldsOf<M>>;
  /** Marks of a tenant that are listed, at most. */
  readonly listedMax: number;
}

export type RepoMarks<M extends RepoMark> = Omit<ReturnType<typeof createDynamoDbRepoMarks<M>>, 'change'>;

const markedItem = z.looseObject({ repo: z.string() });

/**
 * What is decided of repos, of one kind. Away from the counter's partition and from the items of tenants and repos:
 * strangers read it for whatever names they like. All reads are strongly consistent. On the ledger's table, an item for
 * each repo that has or had such a mark. Each write is over the version that was read, so one that lands late changes
 * nothing, and an ended one stays for a day.
 */
export function createDynamoDbRepoMarks<M extends RepoMark>(
  table: Table,
  { partition, field, fields, listedMax }: MarkKind<M>,
) {
  const keyOf = ({ tenant, repo }: RepoPath) => ({ pk: partition(tenant), sk: `REPO#${repo}` });
  /** @returns undefined if there is no item, or its mark has ended. */
  const markIn = (item: unknown): M | undefined => {
    if (item === undefined) return undefined;
    const { repo, [field]: mark } = markedItem.parse(item);
    return mark === undefined ? undefined : ({ repo, ...fields.parse(mark) } as unknown as M);
  };
  const marks = {
    /** One read of one item, whether or not there is such a repo, or tenant. @throws {LedgerUnavailableError} */
    find: async (path: RepoPath) => markIn(await getItem(table, keyOf(path))),
    /** Those of a tenant, by name. @throws {LedgerUnavailableError} */
    async list(tenant: string): Promise<readonly M[]> {
      const query = inPartition(partition(tenant), { prefix: 'REPO#' });
      const items = await firstItems(table, {
        ...query,
        FilterExpression: 'attribute_exists(#mark)',
        ExpressionAttributeNames: { ...query.ExpressionAttributeNames, '#mark': field },
        Limit: listedMax,
      });
      return items.flatMap((item) => markIn(item) ?? []);
    },
    /** Replaces what was decided before. A write that lands late changes nothing. @throws {LedgerUnavailableError} */
    async put({ tenant, mark: { repo, ...own } }: { tenant: string; mark: M }): Promise<void> {
      await marks.change({ tenant, repo }, () => own);
    },
    /**
     * Changes it.
     *
     * @param change from what was read, undefined: there is none. Its result is written; undefined: nothing is.
     * @returns what holds now.
     */
    async change(
      path: RepoPath,
      change: (before: M | undefined) => FieldsOf<M> | undefined,
    ): Promise<M | undefined> {
      const { item } = await changeItem(table, keyOf(path), (found) => {
        const changed = change(markIn(found));
        return changed && { repo: path.repo, [field]: changed, [expiryAttribute]: undefined };
      });
      return markIn(item);
    },
    /**
     * Ends it. A write from before that lands late does not bring it back.
     *
     * @returns what there was. undefined: nothing was decided.
     * @throws {LedgerUnavailableError}
     */
    async end({ atMs, ...path }: RepoPath & { atMs: number }): Promise<M | undefined> {
      let ended: M | undefined;
      await changeItem(table, keyOf(path), (found) => {
        ended = markIn(found);
        return ended && { [field]: undefined, ...expiring(atMs + endedKeptMs) };
      });
      return ended;
    },
  };
  return marks;
}

/** A repo has no mark any more when its name is used again. */
export function markBelongings<M extends RepoMark>(marks: RepoMarks<M>, clock: Clock) {
  const endRepo = async ({ tenant, repo }: RepoPath) => {
    await marks.end({ tenant, repo, atMs: clock.nowMs() });
  };
  return {
    knows: async (path) => (await marks.find(path)) !== undefined,
    closeRepo: endRepo,
    closeTenant: async (tenant: string) => {
      const all = await marks.list(tenant);
      await mapLimited(all, endsAtOnce, ({ repo }) => endRepo({ tenant, repo }));
    },
    forgetRepo: async (path) => {
      await endRepo(path);
      return 'done';
    },
  } satisfies Belongings;
}
