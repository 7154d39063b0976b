import { mapLimited } from '../../lambda/core/rules/async.ts';
import { AwsServiceError } from '../../lambda/core/rules/errors.ts';
import { all, exists, type Fields, removing, setting } from '../../lambda/core/table/expressions.ts';
import { allItems, inPartition, type Table, updateItem } from '../../lambda/core/table/requests.ts';

/**
 * What waits in the queues of this process, as items of its table. On AWS there are queues for it: these items are in
 * partitions of their own and in no index, so the functions never meet them.
 */
export const queuePartitions = {
  /** A tenant's reconcile that waits or runs, by the tenant. */
  reconciles: 'QUEUE#RECOUNTS',
  /** The last reconcile of a tenant that failed too often, by the tenant. */
  deadReconciles: 'QUEUE#RECOUNTS#DEAD',
  /** What is sent to webhooks, by the message's id. */
  webhooks: 'QUEUE#WEBHOOKS',
  /** What is sent by e-mail, by the message's id. */
  emails: 'QUEUE#EMAILS',
  /** Where processes share the table: what any of them sent, until the leader has it. */
  inbox: 'QUEUE#INBOX',
  leader: 'QUEUE#LEADER',
} as const;

/** A job, and what its queue knows of it. If it's several that were merged: their first message id and cause. */
export interface Job<M> {
  readonly message: M;
  readonly messageId: string;
  /** Id of the request that asked for it, for the log. */
  readonly correlationId?: string | undefined;
  readonly firstAtMs: number;
  readonly lastAtMs: number;
  /** Number of deliveries that failed. */
  readonly failures: number;
  /** After a failure: earliest time of the next delivery. */
  readonly notBeforeMs: number;
}

/** Jobs that outlive a process, by their ids. */
export interface Kept<M> {
  /** @throws {StorageFullError} when the disk is full. */
  put(id: string, job: Job<M>): Promise<void>;
  remove(id: string): Promise<void>;
  /** What an earlier process left. */
  load(nowMs: number): Promise<readonly { readonly id: string; readonly job: Job<M> }[]>;
}

export interface KeptItem {
  readonly id: string;
  readonly nowMs: number;
}

/** How jobs are written down. */
export interface Codec<M> {
  write(job: Job<M>): object;
  /** @returns undefined: nothing that can be delivered. */
  read(value: unknown, item: KeptItem): Job<M> | undefined;
}

/** The leader, as far as it guards items. */
export interface Fence {
  /** Higher than that of each leader before. */
  readonly number: number;
  /** A newer leader was met. */
  end(): void;
}

const earlier = 'attribute_not_exists(#leader) OR #leader < :leader';
const claimsAtOnce = 16;

/**
 * One partition of jobs.
 *
 * @param leader where processes share the table. Each item carries the number of the leader that has read or written it
 * last, so that an earlier one, which doesn't know yet, neither changes nor removes it; and the number of that leader's
 * write, so that none that lands twice, the second time after a later one, removes what that wrote.
 */
export function openKept<M>(table: Table, pk: string, { write, read }: Codec<M>, leader?: Fence): Kept<M> {
  const { client, tableName: TableName } = table;
  let writes = 0;
  const nextWrite = () => {
    writes += 1;
    return leader && { leader: leader.number, write: writes };
  };
  const conditionOf = (by: ReturnType<typeof nextWrite>) =>
    by && {
      ConditionExpression: `${earlier} OR (#leader = :leader AND (attribute_not_exists(#write) OR #write <= :write))`,
      ExpressionAttributeNames: { '#leader': 'leader', '#write': 'write' },
      ExpressionAttributeValues: { ':leader': by.leader, ':write': by.write },
    };
  const written = async (request: Promise<unknown>) => {
    await request.catch((error) => {
      if (error instanceof AwsServiceError && error.code === 'ConditionalCheckFailedException') leader?.end();
      throw error;
    });
  };
  /** @returns undefined: it was removed meanwhile, or a newer leader has it. */
  const claimed = async (sk: string, { number }: Fence): Promise<Fields | undefined> => {
    const found = await updateItem(table, {
      key: { pk, sk },
      change: [setting({ leader: number }), removing('write')],
      condition: all(exists, `(${earlier} OR (#leader = :leader AND attribute_not_exists(#write)))`),
      returns: 'ALL_NEW',
    });
    return found.ok ? found.attributes : undefined;
  };
  return {
    put: (id, job) => {
      const by = nextWrite();
      const Item = { pk, sk: id, message: write(job), ...by };
      return written(client.send('PutItem', { TableName, Item, ...conditionOf(by) }));
    },
    remove: (id) =>
      written(client.send('DeleteItem', { TableName, Key: { pk, sk: id }, ...conditionOf(nextWrite()) })),
    async load(nowMs) {
      const items = await allItems(table, inPartition(pk));
      const own = leader
        ? await mapLimited(items, claimsAtOnce, ({ sk }) => claimed(String(sk), leader))
        : items;
      return own.flatMap((item) => {
        const id = String(item?.['sk']);
        const job = item && read(item['message'], { id, nowMs });
        return job ? [{ id, job }] : [];
      });
    },
  };
}
