import { randomUUID } from 'node:crypto';
import type { EmailMessage } from '../../lambda/alerts/rules/email.ts';
import type { WebhookMessage } from '../../lambda/alerts/rules/webhook-delivery.ts';
import type { ChunkedUploads } from '../../lambda/chunks/upload-store.ts';
import type { ExportJobs } from '../../lambda/exports/job-store.ts';
import type { Clock, Invocations, Log } from '../../lambda/rules/clock-and-log.ts';
import type { QueueGauge } from '../../lambda/status/rules/status.ts';
import type { Table } from '../../lambda/table/requests.ts';
import { createInbox, pollInbox, type Queues } from './inbox.ts';
import { Leader, type Term } from './leader.ts';
import type { PumpConsumer, QueueTiming } from './pump.ts';
import { openKeptMessages, openKeptReconciles } from './queue-items.ts';
import { ReconcilePump } from './reconcile-pump.ts';
import { countdown, type Repeated, type ScheduledFunction, startSchedule, type Timers } from './schedule.ts';
import { SendPump } from './send-pump.ts';
import { chunkPump, exportPump, reopenUploads, resumeExports } from './work-pumps.ts';

/** What the pumps of a process have in common. */
interface Around {
  readonly table: Table;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly log: Log;
  readonly invocations: Invocations;
  readonly timing: QueueTiming;
  /** Time that nobody sets. */
  readonly elapsedMs: () => number;
  readonly isWritable?: () => boolean;
}

/** The functions that run without a request. */
interface Consumers {
  readonly reconcile: PumpConsumer;
  readonly exportArchive: PumpConsumer;
  readonly assembleUpload: PumpConsumer;
  readonly sendWebhook: PumpConsumer;
  readonly sendEmail: PumpConsumer;
  readonly refresh: ScheduledFunction;
}

/** @param term of the leader, where processes share the table. */
function createPumps({ table, isWritable, ...around }: Around, term?: Term) {
  const sending = { timers: around.timers, log: around.log };
  return {
    queue: new ReconcilePump({
      ...around,
      ...(isWritable && { isWritable }),
      kept: openKeptReconciles(table, term),
    }),
    exportPump: exportPump(sending),
    chunkPump: chunkPump(sending),
    webhookPump: new SendPump<WebhookMessage>({
      ...sending,
      kept: openKeptMessages(table, 'webhooks', term),
      sender: 'sendWebhook',
    }),
    emailPump: new SendPump<EmailMessage>({
      ...sending,
      kept: openKeptMessages(table, 'emails', term),
      sender: 'sendEmail',
    }),
  };
}

export type Pumps = ReturnType<typeof createPumps>;

/** What they say of themselves. */
const gaugesOf = (pumps: Pumps): readonly QueueGauge[] => [
  pumps.queue.gauge,
  pumps.webhookPump.gauge,
  pumps.emailPump.gauge,
  pumps.exportPump.gaugeAs('exports'),
  pumps.chunkPump.gaugeAs('chunks'),
];

/** What is delivered, and by what. */
interface Work {
  readonly exportJobs: Pick<ExportJobs, 'listDue' | 'change'>;
  readonly chunkedUploads: Pick<ChunkedUploads, 'listDue' | 'change'>;
  readonly consumersOf: (pumps: Pumps) => Consumers;
}

/** Starts to deliver, and the schedule. @returns ends both. */
async function startDelivery(pumps: Pumps, around: Around & Work, term?: Term): Promise<Repeated> {
  const { queue, exportPump: exports, chunkPump: chunks, webhookPump, emailPump } = pumps;
  const { refresh, ...consumers } = around.consumersOf(pumps);
  const parts: Repeated[] = [queue, exports, chunks, webhookPump, emailPump];
  const close = async (graceMs: number) => {
    const leftMs = countdown(graceMs, around.elapsedMs);
    for (const part of parts.toReversed()) await part.close(leftMs());
  };
  /** A process that froze doesn't go on as the leader. Its pumps are being closed, so nobody waits for the run. */
  const whileLeading =
    <Input extends unknown[], Output>(run: (...input: Input) => Promise<Output>) =>
    (...input: Input): Promise<Output> =>
      !term || term.isCurrent() ? run(...input) : new Promise(() => {});
  try {
    await queue.deliverTo(whileLeading(consumers.reconcile));
    await resumeExports(exports, around.exportJobs, term === undefined);
    exports.deliverTo(whileLeading(consumers.exportArchive));
    await reopenUploads(around.chunkedUploads, term === undefined);
    chunks.deliverTo(whileLeading(consumers.assembleUpload));
    await webhookPump.deliverTo(whileLeading(consumers.sendWebhook));
    await emailPump.deliverTo(whileLeading(consumers.sendEmail));
  } catch (error) {
    await close(0);
    throw error;
  }
  parts.push(startSchedule(whileLeading(refresh), around));
  const takers = { reconciles: queue, exports, chunks, webhooks: webhookPump, emails: emailPump };
  if (term) parts.push(pollInbox({ ...around, term, takers }));
  return { close };
}

/** The queues of a server, and what delivers them. */
interface Delivery {
  readonly queues: Queues;
  /** What this process delivers: nothing, unless it may. */
  readonly gauges: readonly QueueGauge[];
  start(work: Work): Promise<Repeated>;
}

/** By this process alone. */
export function ownDelivery(around: Around): Delivery {
  const pumps = createPumps(around);
  return {
    queues: {
      queue: pumps.queue,
      exportQueue: pumps.exportPump,
      chunkQueue: pumps.chunkPump,
      webhookQueue: pumps.webhookPump,
      emailQueue: { isOn: true, send: (messages) => pumps.emailPump.send(messages) },
    },
    gauges: gaugesOf(pumps),
    start: (work) => startDelivery(pumps, { ...around, ...work }),
  };
}

/** By one at a time of the processes that share the table, with pumps of its own for each of its terms. */
export function sharedDelivery(around: Around): Delivery {
  const idle = createPumps(around);
  let pumps = idle;
  const begin = async (work: Work, term: Term): Promise<Repeated> => {
    const own = createPumps(around, term);
    const delivery = await startDelivery(own, { ...around, ...work }, term);
    pumps = own;
    return {
      async close(graceMs) {
        await delivery.close(graceMs);
        pumps = idle;
      },
    };
  };
  const gauge = ({ queue }: QueueGauge): QueueGauge => ({
    queue,
    read: () => (gaugesOf(pumps).find((each) => each.queue === queue) as QueueGauge).read(),
  });
  return {
    queues: createInbox(around.table, around.invocations),
    gauges: gaugesOf(idle).map(gauge),
    start: async (work) => new Leader({ ...around, owner: randomUUID(), begin: (term) => begin(work, term) }),
  };
}
