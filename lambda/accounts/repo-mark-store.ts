import * as z from 'zod';
import type { RepoPath } from '../ledger/rules/tenant.ts';
import { changeItem, firstItems, getItem, inPartition, putItem, type Table } from '../table/requests.ts';
import { expiring, expiryAttribute } from '../table/table.ts';
import {
  type LinkedRepo,
  linkedReposMax,
  type PublicRead,
  publicReposMax,
  type RepoMark,
} from './rules/git-hosts.ts';
import type { HostGrant } from './rules/host-user.ts';

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
  readonly #item: z.ZodType<{ repo: string; mark?: FieldsOf<M> | undefined }>;

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
      .object({ repo: z.string() })
      .loose()
      .transform(({ repo, [kind.field]: found }) => ({
        repo,
        mark: found === undefined ? undefined : kind.fields.parse(found),
      }));
  }

  /** One read of one item, whether or not there is such a repo, or tenant. @throws {LedgerUnavailableError} */
  async find(path: RepoPath): Promise<M | undefined> {
    return this.#markIn(await getItem(this.#table, this.#keyOf(path)));
  }

  /** Those of a tenant, by name. @throws {LedgerUnavailableError} */
  async list(tenant: string): Promise<readonly M[]> {
    const { partition, field, listedMax } = this.#kind;
    const query = inPartition(partition(tenant), { prefix: 'REPO#' });
    const items = await firstItems(this.#table, {
      ...query,
      FilterExpression: 'attribute_exists(#mark)',
      ExpressionAttributeNames: { ...query.ExpressionAttributeNames, '#mark': field },
      Limit: listedMax,
    });
    return items.flatMap((item) => this.#markIn(item) ?? []);
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
  async change(
    path: RepoPath,
    change: (before: M | undefined) => FieldsOf<M> | undefined,
  ): Promise<M | undefined> {
    const { item } = await changeItem(this.#table, this.#keyOf(path), (found) => {
      const fields = change(this.#markIn(found));
      return fields && { repo: path.repo, [this.#kind.field]: fields, [expiryAttribute]: undefined };
    });
    return this.#markIn(item);
  }

  /**
   * Ends it. A write from before that lands late does not bring it back.
   *
   * @returns what there was. undefined: nothing was decided.
   * @throws {LedgerUnavailableError}
   */
  async end({ atMs, ...path }: RepoPath & { atMs: number }): Promise<M | undefined> {
    let ended: M | undefined;
    await changeItem(this.#table, this.#keyOf(path), (found) => {
      ended = this.#markIn(found);
      return ended && { [this.#kind.field]: undefined, ...expiring(atMs + endedKeptMs) };
    });
    return ended;
  }

  #keyOf({ tenant, repo }: RepoPath) {
    return { pk: this.#kind.partition(tenant), sk: `REPO#${repo}` };
  }

  /** @returns undefined if there is no item, or its mark has ended. */
  #markIn(item: unknown): M | undefined {
    const { repo, mark } = item === undefined ? {} : this.#item.parse(item);
    return mark && ({ repo, ...mark } as unknown as M);
  }
}

/** What strangers read, and are metered by: of no matter to whoever has a token. */
export const publicPartition = (tenant: string) => `PUBLIC#${tenant}`;

/** Which repos anybody may download from. */
export type PublicReads = RepoMarks<PublicRead>;

/** Public repos on the ledger's table, an item for each. */
export function createDynamoDbPublicReads(table: Table): PublicReads {
  return new DynamoDbRepoMarks<PublicRead>(table, {
    partition: publicPartition,
    field: 'publicRead',
    fields: z.object({ monthlyLimitBytes: z.number().nullable(), sinceMs: z.number() }),
    listedMax: 2 * publicReposMax,
  });
}

/** Which repos are linked. */
export type LinkedRepos = RepoMarks<LinkedRepo> & Pick<DynamoDbLinkedRepos, 'pin'>;

/** Mapped repos on the ledger's table, an item for each. */
export function createDynamoDbLinkedRepos(table: Table): LinkedRepos {
  return new DynamoDbLinkedRepos(table);
}

class DynamoDbLinkedRepos extends DynamoDbRepoMarks<LinkedRepo> {
  constructor(table: Table) {
    super(table, {
      partition: (tenant) => `MAPPED#${tenant}`,
      field: 'mapped',
      fields: z.object({
        host: z.string(),
        name: z.string(),
        linkedId: z.string().nullable(),
        readThrough: z.boolean().optional(),
        sinceMs: z.number(),
      }),
      listedMax: 2 * linkedReposMax,
    });
  }

  /**
   * Notes the repository's number, unless one is known, or something else was decided since.
   *
   * @returns what holds now.
   * @throws {LedgerUnavailableError}
   */
  pin(input: RepoPath & { sinceMs: number; linkedId: string }): Promise<LinkedRepo | undefined> {
    const { sinceMs, linkedId, ...path } = input;
    return this.change(path, (linked) => {
      if (linked?.sinceMs !== sinceMs || linked.linkedId !== null) return undefined;
      const { repo: _, ...fields } = linked;
      return { ...fields, linkedId };
    });
  }
}

const grantItem = z.object({
  hostUserId: z.string(),
  login: z.string(),
  access: z.enum(['read', 'write']),
  untilMs: z.number(),
});

const grantKey = (key: string) => ({ pk: `GRANT#${key}`, sk: 'GRANT' });

/**
 * What hosts have said, for some minutes, so that not every function has to ask. On the ledger's table: an item for each
 * token and repo, which removes itself.
 */
export function createDynamoDbKeptGrants(table: Table) {
  return {
    /** @throws {LedgerUnavailableError} */
    async find(key: string): Promise<{ readonly grant: HostGrant; readonly untilMs: number } | undefined> {
      const item = await getItem(table, grantKey(key));
      if (!item) return undefined;
      const { hostUserId, login, access, untilMs } = grantItem.parse(item);
      return { grant: { hostUser: { id: hostUserId, login }, access }, untilMs };
    },
    /** Unless one is known that holds longer. @throws {LedgerUnavailableError} */
    async keep(input: { key: string; grant: HostGrant; untilMs: number }): Promise<void> {
      const { key, grant, untilMs } = input;
      const { hostUser, access } = grant;
      await putItem(table, {
        item: {
          ...grantKey(key),
          hostUserId: hostUser.id,
          login: hostUser.login,
          access,
          untilMs,
          ...expiring(untilMs),
        },
        condition: 'attribute_not_exists(#pk) OR #untilMs < :untilMs',
        values: { ':untilMs': untilMs },
      });
    },
  };
}

export type KeptGrants = ReturnType<typeof createDynamoDbKeptGrants>;
