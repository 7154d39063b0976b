import { randomUUID } from 'node:crypto';
import type { Consumer } from '../../lambda/core/rules/jobs.ts';
import type { Table } from '../../lambda/core/table/requests.ts';
import type { QueueGauge } from '../../lambda/frame/gauges/rules/gauges.ts';
import { createInbox, pollInbox } from './inbox.ts';
import { Leader, type Term } from './leader.ts';
import type { Around, Pump, TenantMessage } from './pump.ts';
import {
  createPumps,
  type Pumps,
  type QueueName,
  type Queues,
  type QueueTiming,
  queuesBy,
  queuesOfSubjects,
} from './queues.ts';
import { countdown, type Repeated, type ScheduledFunction, startSchedule } from './schedule.ts';

/** What the pumps of a process have in common. */
interface Shared extends Around {
  readonly table: Table;
  readonly timing: QueueTiming;
  /** Time that nobody sets. */
  readonly elapsedMs: () => number;
}

/** What is delivered, and by what. */
interface Work {
  readonly consumers: Readonly<Record<QueueName, Consumer>>;
  readonly refresh: ScheduledFunction;
  /** As `SubjectQueue.resume` does. */
  readonly resume: (queues: Queues, isAlone: boolean) => Promise<void>;
}

/** Starts to deliver, and the schedule. @returns ends both. */
async function startDelivery(pumps: Pumps, around: Shared & Work, term?: Term): Promise<Repeated> {
  const parts: Repeated[] = Object.values(pumps);
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
    // A step that ran already would lose its lease.
    await around.resume(queuesOf(pumps), term === undefined);
    for (const [name, consume] of Object.entries(around.consumers))
      await pumps[name as QueueName].deliverTo(whileLeading(consume));
  } catch (error) {
    await close(0);
    throw error;
  }
  parts.push(startSchedule(whileLeading(around.refresh), around));
  if (term) parts.push(pollInbox({ ...around, term, pumps }));
  return { close };
}

/** The queues of a server, and what delivers them. */
interface Delivery {
  readonly queues: Queues;
  /** What this process delivers: nothing, unless it may. */
  readonly gauges: readonly QueueGauge[];
  start(work: Work): Promise<Repeated>;
}

const queuesOf = (pumps: Pumps) =>
  queuesBy((name, messages) => (pumps[name] as unknown as Pump<TenantMessage>).send(messages));

/** By this process alone. */
export function ownDelivery(around: Shared): Delivery {
  const pumps = createPumps(around);
  return {
    queues: queuesOf(pumps),
    gauges: Object.values(pumps).map(({ gauge }) => gauge),
    start: (work) => startDelivery(pumps, { ...around, ...work }),
  };
}

/**
 * By one at a time of the processes that share the table, with pumps of its own for each of its terms. But each does the copies
 * that it was asked for: their URLs are secrets.
 */
export function sharedDelivery(around: Shared): Delivery {
  const idle = createPumps(around);
  const own = queuesOfSubjects.flatMap(([name, { isOwn, port }]) => (isOwn ? [{ name, port }] : []));
  const isOwn = (queue: string) => own.some(({ name }) => name === queue);
  let pumps = idle;
  const begin = async (work: Work, term: Term): Promise<Repeated> => {
    const ofTerm = createPumps(around, term);
    const delivery = await startDelivery(ofTerm, { ...around, ...work }, term);
    pumps = ofTerm;
    return {
      async close(graceMs) {
        await delivery.close(graceMs);
        pumps = idle;
      },
    };
  };
  return {
    queues: Object.assign(
      createInbox(around.table, around.invocations),
      ...own.map(({ port }) => ({ [port]: queuesOf(idle)[port as keyof Queues] })),
    ),
    gauges: Object.values(idle).map(({ gauge: { queue } }) => ({
      queue,
      read: () => (isOwn(queue) ? idle : pumps)[queue as QueueName].gauge.read(),
    })),
    async start(work) {
      for (const { name } of own) await idle[name].deliverTo(work.consumers[name]);
      const leader = new Leader({ ...around, owner: randomUUID(), begin: (term) => begin(work, term) });
      return {
        async close(graceMs) {
          await Promise.all([leader.close(graceMs), ...own.map(({ name }) => idle[name].close(graceMs))]);
        },
      };
    },
  };
}
