import { randomUUID } from 'node:crypto';
import { isReconcileReason } from '../../lambda/core/ledger/rules/reconcile-policy.ts';
import { forEachLimited } from '../../lambda/core/rules/async.ts';
import {
  causeOf,
  type Invocations,
  isCorrelationId,
  type Log,
} from '../../lambda/core/rules/clock-and-log.ts';
import { adding, all, type Fields, setting } from '../../lambda/core/table/expressions.ts';
import {
  deleteItem,
  inPartition,
  onePage,
  type Table,
  updateItem,
} from '../../lambda/core/table/requests.ts';
import { queuePartitions } from './kept.ts';
import type { Term } from './leader.ts';
import type { Pump } from './pump.ts';
import { type QueueName, type Queues, queuesBy } from './queues.ts';
import { type Repeated, repeat, type Timers } from './schedule.ts';

const pk = queuePartitions.inbox;
const requestsAtOnce = 16;

/**
 * Queues of which every process sends to an inbox in the table. Once it's written, a kill loses nothing of it. Requests of
 * one tenant that are alike have one item: the last replaces those before it. It has another version then, and has changed
 * once more: a write may land twice, the second time after the next one.
 */
export function createInbox(table: Table, invocations: Invocations): Queues {
  return queuesBy((queue, messages) =>
    forEachLimited(messages, requestsAtOnce, async (message) => {
      const correlationId = causeOf(invocations.current());
      const change = [
        setting({ queue, message, version: randomUUID(), correlationId }),
        adding({ changes: 1 }),
      ];
      await updateItem(table, { key: { pk, sk: `${queue}#${idIn(message) ?? randomUUID()}` }, change });
    }),
  );
}

/** @returns undefined: it's like no other. */
function idIn(message: object): string | undefined {
  const { tenant, reason, full } = message as Fields;
  return isReconcileReason(reason) ? `${tenant}#${reason}${full ? '#full' : ''}` : undefined;
}

interface Polling {
  readonly table: Table;
  readonly term: Pick<Term, 'confirm'>;
  /** What takes messages, as the pumps of a leader do: it has written them down when it resolves. */
  readonly pumps: Partial<Record<QueueName, Pick<Pump<never>, 'take'>>>;
  readonly timers: Timers;
  readonly log: Log;
}

const pollMs = 1_000;
const pageItems = 100;

/** The leader looks into the inbox each second, and has its pumps take what is there. */
export function pollInbox(input: Polling): Repeated {
  return repeat(input.timers, 0, async () => {
    try {
      return (await pollOnce(input)) ? 0 : pollMs;
    } catch (error) {
      input.log.warn('inbox of the queues not read', { error });
      return pollMs;
    }
  });
}

/** @returns whether there is more. */
async function pollOnce(polling: Polling): Promise<boolean> {
  const { table, term } = polling;
  const { items, hasMore } = await onePage(table, { ...inPartition(pk), Limit: pageItems });
  let failure: unknown;
  const taken: Fields[] = [];
  await forEachLimited(items, requestsAtOnce, async (item) => {
    try {
      await take(polling, item);
      taken.push(item);
    } catch (error) {
      failure = error;
    }
  });
  // A leader that doesn't know its successor has kept them too late for it: they must stay. A successor from now on reads
  // what was kept.
  if (taken.length === 0 || (await term.confirm()))
    await forEachLimited(taken, requestsAtOnce, async ({ sk, version, changes }) => {
      const condition = all('#version = :version', '#changes = :changes');
      const values = { ':version': version, ':changes': changes };
      await deleteItem(table, { key: { pk, sk: String(sk) }, condition, values });
    });
  if (failure !== undefined) throw failure;
  return hasMore;
}

async function take({ pumps, log }: Polling, item: Fields): Promise<void> {
  const { queue, sk, message, correlationId } = item;
  const pump = Object.hasOwn(pumps, String(queue)) ? pumps[queue as QueueName] : undefined;
  if (!pump || typeof (Object(message) as Fields)['tenant'] !== 'string')
    return log.error('unreadable message', { key: sk });
  const messageId = String(sk).replace(/^\w+#/, '');
  await pump.take({
    message: message as never,
    messageId,
    ...(isCorrelationId(correlationId) && { correlationId }),
  });
}
