import { isReconcileReason } from '../../lambda/ledger/rules/reconcile-policy.ts';
import { mapLimited } from '../../lambda/rules/async.ts';
import { isCorrelationId } from '../../lambda/rules/clock-and-log.ts';
import { AwsServiceError } from '../../lambda/rules/errors.ts';
import { all, exists, type Fields, removing, setting } from '../../lambda/table/expressions.ts';
import { allItems, inPartition, type Table, updateItem } from '../../lambda/table/requests.ts';
import { type Delivery, newMessage, type QueueMessage } from './pump.ts';

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

const earlier = 'attribute_not_exists(#leader) OR #leader < :leader';
const claimsAtOnce = 16;

/**
 * One partition of messages. @throws {StorageFullError} when the disk is full.
 *
 * @param leader where processes share the table. Each item carries the number of the leader that has read or written it
 * last, so that an earlier one, which doesn't know yet, neither changes nor removes it; and the number of that leader's
 * write, so that none that lands twice, the second time after a later one, removes what that wrote.
 */
function messagesOf(table: Table, pk: string, leader?: Fence) {
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
    put: (id: string, message: object) => {
      const by = nextWrite();
      const Item = { pk, sk: id, message, ...by };
      return written(client.send('PutItem', { TableName, Item, ...conditionOf(by) }));
    },
    remove: (id: string) =>
      written(client.send('DeleteItem', { TableName, Key: { pk, sk: id }, ...conditionOf(nextWrite()) })),
    async all(): Promise<{ id: string; message: unknown }[]> {
      const items = await allItems(table, inPartition(pk));
      const own = leader
        ? await mapLimited(items, claimsAtOnce, ({ sk }) => claimed(String(sk), leader))
        : items;
      return own.flatMap((item) => (item ? [{ id: String(item['sk']), message: item['message'] }] : []));
    },
  };
}

/** The leader, as far as it guards items. */
export interface Fence {
  /** Higher than that of each leader before. */
  readonly number: number;
  /** A newer leader was met. */
  end(): void;
}

/** The reconciles that wait, run, or failed too often: at most one of each tenant. */
export interface KeptReconciles {
  /** @throws {StorageFullError} when the disk is full. */
  save(message: QueueMessage): Promise<void>;
  remove(tenant: string): Promise<void>;
  /** Keeps a message that failed too often, the last of its tenant. */
  saveDead(message: QueueMessage): Promise<void>;
  removeDead(tenant: string): Promise<void>;
  /** What an earlier process left, and the tenants that have a dead letter. */
  load(nowMs: number): Promise<{ waiting: readonly QueueMessage[]; dead: readonly string[] }>;
}

export function openKeptReconciles(table: Table, leader?: Fence): KeptReconciles {
  const waiting = messagesOf(table, queuePartitions.reconciles, leader);
  const dead = messagesOf(table, queuePartitions.deadReconciles, leader);
  return {
    save: (message) => waiting.put(message.tenant, message),
    remove: waiting.remove,
    saveDead: (message) => dead.put(message.tenant, message),
    removeDead: dead.remove,
    load: async (nowMs) => ({
      waiting: (await waiting.all()).map(({ id, message }) => readReconcile(id, message, nowMs)),
      dead: (await dead.all()).map(({ id }) => id),
    }),
  };
}

/**
 * A reconcile as it was kept. What can't be read still shows that its tenant needs one, so it becomes a full one. Times in
 * the future, possible when the clock was set back, become now.
 */
export function readReconcile(tenant: string, value: unknown, nowMs: number): QueueMessage {
  const fresh = newMessage(
    { tenant, reason: 'unfinished', full: true },
    { nowMs, messageId: `restored-${tenant}` },
  );
  const read: Readonly<Record<string, unknown>> =
    typeof value === 'object' && value !== null ? { ...value } : {};
  const { reason, full, messageId, correlationId, prompt, failures } = read;
  if (!isReconcileReason(reason) || typeof full !== 'boolean') return fresh;
  const timeOf = (time: unknown) => Math.min(nowMs, typeof time === 'number' ? time : nowMs);
  return {
    tenant,
    reason,
    full,
    messageId: typeof messageId === 'string' ? messageId : fresh.messageId,
    correlationId: isCorrelationId(correlationId) ? correlationId : undefined,
    firstAtMs: timeOf(read['firstAtMs']),
    lastAtMs: timeOf(read['lastAtMs']),
    prompt: prompt === true,
    failures: typeof failures === 'number' ? failures : 0,
    notBeforeMs: 0,
  };
}

/** What is to be sent to webhooks, or by e-mail. */
export interface KeptMessages<M> {
  /** Replaces what was kept before. @throws {StorageFullError} when the disk is full. */
  save(messages: readonly Delivery<M>[]): Promise<void>;
  /** What was kept by an earlier process. */
  load(): Promise<readonly Delivery<M>[]>;
}

export function openKeptMessages<M>(
  table: Table,
  of: 'webhooks' | 'emails',
  leader?: Fence,
): KeptMessages<M> {
  const { put, remove, all: loaded } = messagesOf(table, queuePartitions[of], leader);
  /** By id, as the table has them. Undefined: it may have an older one, or none. */
  let kept: ReadonlyMap<string, Delivery<M> | undefined> = new Map();
  return {
    async save(messages) {
      const now = new Map(messages.map((each) => [each.messageId, each]));
      const changed = messages.filter((each) => kept.get(each.messageId) !== each);
      const gone = [...kept.keys()].filter((id) => !now.has(id));
      const all = new Set([...kept.keys(), ...now.keys()]);
      kept = new Map([...all].map((id) => [id, kept.get(id) === now.get(id) ? now.get(id) : undefined]));
      await Promise.all([...changed.map((each) => put(each.messageId, each)), ...gone.map(remove)]);
      kept = now;
    },
    async load() {
      const read = (await loaded()).flatMap(({ message }) => (isKept<M>(message) ? [message] : []));
      kept = new Map(read.map((each) => [each.messageId, each]));
      return read;
    },
  };
}

/** Whether it can be delivered. What its message says, its consumer looks at. */
export function isKept<M>(value: unknown): value is Delivery<M> {
  if (typeof value !== 'object' || value === null) return false;
  const { message, messageId, failures } = value as Readonly<Record<string, unknown>>;
  return (
    typeof message === 'object' &&
    message !== null &&
    typeof messageId === 'string' &&
    Number.isSafeInteger(failures)
  );
}
