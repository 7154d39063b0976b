import * as z from 'zod';
import type { RepoMark } from '../../domain/repo-mark.ts';
import type { RepoPath } from '../../domain/tenant.ts';
import { absent } from '../../table/expressions.ts';
import { firstItems, getItem, putItem, type Table, untilWritten } from '../../table/requests.ts';
import { expiryAttribute, keyNames } from '../../table/table.ts';

/** After it has ended, an item stays for so long: no write lands later. */
const endedKeptMs = 24 * 60 * 60_000;

/** What an item has of it beside the repo's name. */
type FieldsOf<M extends RepoMark> = Omit<M, 'repo'>;

export type RepoMarks<M extends RepoMark> = Pick<DynamoDbRepoMarks<M>, 'find' | 'list' | 'put' | 'end'>;

/**
 * What is decided of repos, of one kind. Away from the counter's partition and from the items of tenants and repos:
 * strangers read it for whatever names they like. All reads are strongly consistent. On the ledger's table, an item for
 * each repo that has or had such a mark. Each write is over the version that was read, so one that lands late changes
 * nothing, and an ended one stays for a day.
 */
export class DynamoDbRepoMarks<M extends RepoMark> {
  readonly #table: Table;
  readonly #kind: {
    readonly partition: (tenant: string) => string;
    readonly field: string;
    readonly listedMax: number;
  };
  readonly #item: z.ZodType<{ repo: string; version: number; mark?: FieldsOf<M> | undefined }>;

  /** @param kind.field the attribute that has it. It is absent once it has ended. */
  constructor(
    table: Table,
    kind: {
      readonly partition: (tenant: string) => string;
      readonly field: string;
      readonly fields: z.ZodType<FieldsOf<M>>;
      /** Marks of a tenant that are listed, at most. */
      readonly listedMax: number;
    },
  ) {
    this.#table = table;
    this.#kind = kind;
    this.#item = z
      .object({ repo: z.string(), version: z.number() })
      .loose()
      .transform(({ repo, version, [kind.field]: found }) => ({
        repo,
        version,
        mark: found === undefined ? undefined : kind.fields.parse(found),
      }));
  }

  /** One read of one item, whether or not there is such a repo, or tenant. @throws {LedgerUnavailableError} */
  async find(path: RepoPath): Promise<M | undefined> {
    return (await this.#read(path)).mark;
  }

  /** Those of a tenant, by name. @throws {LedgerUnavailableError} */
  async list(tenant: string): Promise<readonly M[]> {
    const { partition, field, listedMax } = this.#kind;
    const items = await firstItems(this.#table, {
      KeyConditionExpression: '#pk = :pk AND begins_with(#sk, :repos)',
      FilterExpression: 'attribute_exists(#mark)',
      ExpressionAttributeNames: { '#pk': keyNames.pk, '#sk': keyNames.sk, '#mark': field },
      ExpressionAttributeValues: { ':pk': partition(tenant), ':repos': 'REPO#' },
      ConsistentRead: true,
      Limit: listedMax,
    });
    return items.flatMap((item) => this.#parse(item).mark ?? []);
  }

  /** Replaces what was decided before. A write that lands late changes nothing. @throws {LedgerUnavailableError} */
  async put({ tenant, mark: { repo, ...fields } }: { tenant: string; mark: M }): Promise<void> {
    await this.change({ tenant, repo }, () => fields);
  }

  /**
   * Changes it.
   *
   * @param change from what was read, undefined: there is none. Its result is written; undefined: nothing is.
   * @returns what holds now.
   */
  change(path: RepoPath, change: (before: M | undefined) => FieldsOf<M> | undefined): Promise<M | undefined> {
    return untilWritten(this.#table, async () => {
      const { version, mark } = await this.#read(path);
      const fields = change(mark);
      if (fields === undefined) return { result: mark };
      const isWritten = await this.#write(path, { version, fields: { [this.#kind.field]: fields } });
      return isWritten ? { result: { ...fields, repo: path.repo } as unknown as M } : undefined;
    });
  }

  /**
   * Ends it. A write from before that lands late does not bring it back.
   *
   * @returns what there was. undefined: nothing was decided.
   * @throws {LedgerUnavailableError}
   */
  end({ atMs, ...path }: RepoPath & { atMs: number }): Promise<M | undefined> {
    return untilWritten(this.#table, async () => {
      const { version, mark } = await this.#read(path);
      if (!mark) return { result: undefined };
      const fields = { [expiryAttribute]: Math.ceil((atMs + endedKeptMs) / 1000) };
      return (await this.#write(path, { version, fields })) ? { result: mark } : undefined;
    });
  }

  #keyOf({ tenant, repo }: RepoPath) {
    return { pk: this.#kind.partition(tenant), sk: `REPO#${repo}` };
  }

  /** @returns version 0 if there is no item. */
  async #read(path: RepoPath): Promise<{ version: number; mark?: M }> {
    const item = await getItem(this.#table, this.#keyOf(path));
    return item ? this.#parse(item) : { version: 0 };
  }

  #parse(item: unknown): { version: number; mark?: M } {
    const { repo, version, mark } = this.#item.parse(item);
    return { version, ...(mark && { mark: { repo, ...mark } as unknown as M }) };
  }

  async #write(
    path: RepoPath,
    { version, fields }: { version: number; fields: Readonly<Record<string, unknown>> },
  ): Promise<boolean> {
    const { ok } = await putItem(this.#table, {
      item: { ...this.#keyOf(path), repo: path.repo, version: version + 1, ...fields },
      ...(version === 0
        ? { condition: absent }
        : { condition: '#version = :version', values: { ':version': version } }),
    });
    return ok;
  }
}
