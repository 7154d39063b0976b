import { randomUUID } from 'node:crypto';
import type { EmailMessage, EmailQueue } from '../../lambda/alerts/rules/email.ts';
import type { WebhookMessage, WebhookQueue } from '../../lambda/alerts/rules/webhook-delivery.ts';
import type { ChunkMessage, ChunkQueue } from '../../lambda/chunks/messages.ts';
import type { ExportMessage, ExportQueue } from '../../lambda/exports/messages.ts';
import {
  isReconcileReason,
  type ReconcileQueue,
  type ReconcileRequest,
} from '../../lambda/ledger/rules/reconcile-policy.ts';
import { forEachLimited } from '../../lambda/rules/async.ts';
import { causeOf, type Invocations, isCorrelationId, type Log } from '../../lambda/rules/clock-and-log.ts';
import type { GaugedQueue } from '../../lambda/status/rules/status.ts';
import { adding, all, type Fields, setting } from '../../lambda/table/expressions.ts';
import { deleteItem, inPartition, onePage, type Table, updateItem } from '../../lambda/table/requests.ts';
import type { Term } from './leader.ts';
import { isKept, queuePartitions } from './queue-items.ts';
import { type Repeated, repeat, type Timers } from './schedule.ts';
import type { SendPump } from './send-pump.ts';

const pk = queuePartitions.inbox;
const requestsAtOnce = 16;

/** The queues as the functions know them. */
export interface Queues {
  readonly queue: ReconcileQueue;
  readonly exportQueue: ExportQueue;
  readonly chunkQueue: ChunkQueue;
  readonly webhookQueue: WebhookQueue;
  readonly emailQueue: EmailQueue;
}

/**
 * Queues of which every process sends to an inbox in the table. Once it's written, a kill loses nothing of it. Requests of
 * one tenant that are alike have one item: the last replaces those before it. It has another version then, and has changed
 * once more: a write may land twice, the second time after the next one.
 */
export function createInbox(table: Table, invocations: Invocations): Queues {
  const send = (queue: GaugedQueue, messages: readonly { id: string; message: object }[]) =>
    forEachLimited(messages, requestsAtOnce, async ({ id, message }) => {
      const item = { queue, message, version: randomUUID(), correlationId: causeOf(invocations.current()) };
      const change = [setting(item), adding({ changes: 1 })];
      await updateItem(table, { key: { pk, sk: `${queue}#${id}` }, change });
    });
  const each = (queue: GaugedQueue) => (messages: readonly object[]) =>
    send(
      queue,
      messages.map((message) => ({ id: randomUUID(), message })),
    );
  const requestAll = (requests: readonly ReconcileRequest[]) =>
    send(
      'reconciles',
      requests.map(({ tenant, reason, full }) => ({
        id: `${tenant}#${reason}${full ? '#full' : ''}`,
        message: { tenant, reason, full },
      })),
    );
  return {
    queue: { request: (request) => requestAll([request]), requestAll },
    exportQueue: { send: each('exports') },
    chunkQueue: { send: each('chunks') },
    webhookQueue: { send: each('webhooks') },
    emailQueue: { isOn: true, send: each('emails') },
  };
}

/** What takes messages, as the pumps of a leader do: it has written them down when it resolves. */
interface Takers {
  readonly reconciles: Pick<ReconcileQueue, 'request'>;
  readonly exports: ExportQueue;
  readonly chunks: ChunkQueue;
  readonly webhooks: Pick<SendPump<WebhookMessage>, 'accept'>;
  readonly emails: Pick<SendPump<EmailMessage>, 'accept'>;
}

const pollMs = 1_000;
const pageItems = 100;

interface Polling {
  readonly table: Table;
  readonly term: Pick<Term, 'confirm'>;
  readonly takers: Takers;
  readonly invocations: Invocations;
  readonly timers: Timers;
  readonly log: Log;
}

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
async function pollOnce({ table, term, takers, invocations, log }: Polling): Promise<boolean> {
  const { items, hasMore } = await onePage(table, { ...inPartition(pk), Limit: pageItems });
  const known = items.map((item) => ({ item, take: takerOf(item, takers, invocations) }));
  let failure: unknown;
  const taken: Fields[] = [];
  await forEachLimited(known, requestsAtOnce, async ({ item, take }) => {
    try {
      if (take === undefined) log.error('unreadable message', { key: item['sk'] });
      await take?.();
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

/** @returns undefined: nothing can take it. */
function takerOf(
  item: Fields,
  { reconciles, exports, chunks, webhooks, emails }: Takers,
  invocations: Invocations,
): (() => Promise<void>) | undefined {
  const { queue, sk, message, correlationId } = item;
  const messageId = String(sk).replace(/^\w+#/, '');
  if (!isKept<unknown>({ message, messageId, failures: 0 })) return undefined;
  switch (queue as GaugedQueue) {
    case 'reconciles': {
      const { tenant, reason, full } = message as Partial<ReconcileRequest>;
      if (typeof tenant !== 'string' || !isReconcileReason(reason) || typeof full !== 'boolean')
        return undefined;
      const cause = isCorrelationId(correlationId) ? { correlationId } : {};
      return () => invocations.during(cause, () => reconciles.request({ tenant, reason, full }));
    }
    case 'exports':
      return () => exports.send([message as ExportMessage]);
    case 'chunks':
      return () => chunks.send([message as ChunkMessage]);
    case 'webhooks':
      return () => webhooks.accept([{ messageId, message: message as WebhookMessage }]);
    case 'emails':
      return () => emails.accept([{ messageId, message: message as EmailMessage }]);
    default:
      return undefined;
  }
}
