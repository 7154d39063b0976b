import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type * as z from 'zod';
import { decodeStoreEvents, reconcileMessage } from '../../../../lambda/core/ledger/reconcile-requests.ts';
import { readJob } from '../../../../lambda/core/rules/jobs.ts';
import { createInvocations } from '../../../../lambda/frame/aws/invocation-log.ts';
import { pollInbox } from '../../../../local/background/inbox.ts';
import { createPumps, defaultQueueTiming, type QueueName } from '../../../../local/background/queues.ts';
import type { Item } from '../../../../local/table/expression.ts';
import { memoryTable } from '../../../support/memory/table.ts';
import { recordingLog } from '../../../support/recording-log.ts';
import type { TestedSubject } from '../../../support/subject.ts';
import * as subjects from '../../../support/subjects.ts';
import { FakeTime } from './fake-time.ts';

interface Queued {
  readonly messages: Readonly<Record<string, readonly object[]>>;
  readonly sqs: Readonly<Record<string, readonly string[]>>;
  readonly storeEvents: readonly string[];
  readonly items: readonly Item[];
}

/** What lay in the queues of 8df669f8. */
const queued: Queued = JSON.parse(
  readFileSync(new URL('../../../fixtures/8df669f8/queued.json', import.meta.url), 'utf8'),
);
const schemas: Readonly<Record<QueueName, z.ZodType<object>>> = Object.assign(
  { reconciles: reconcileMessage },
  ...Object.values<TestedSubject>(subjects).flatMap(({ queues = {}, messages }) => [
    Object.fromEntries(Object.entries(queues).map(([name, { schema }]) => [name, schema])),
    messages,
  ]),
);
const names = Object.keys(schemas) as QueueName[];
const messagesOf = (name: string) => queued.messages[name] ?? [];
const cause = 'JKJaXmPLvHcESHA=';

describe('what SQS has from an older version', () => {
  it.each(names)('is read: %s', (name) => {
    const read = (queued.sqs[name] ?? []).map((body) => readJob<object>(schemas[name], body));
    const jobs = messagesOf(name).map((message) =>
      (name as string) === 'emails' ? { kind: 'send', message } : message,
    );
    expect(jobs.length).toBeGreaterThan(0);
    expect(read).toEqual(jobs.map((job) => ({ job, correlationId: cause })));
  });

  it('is read: events of the store', () => {
    const changes = queued.storeEvents.map((body) => decodeStoreEvents(body, (key) => key));
    expect(changes.map((each) => each.map(({ kind }) => kind))).toEqual([['created', 'removed'], []]);
  });
});

/** All that is delivered of a table's items, by name. */
async function deliveredFrom(items: readonly Item[], { isShared }: { isShared: boolean }) {
  const [table, time] = [memoryTable(), new FakeTime()];
  const { client, tableName: TableName } = table;
  for (const Item of items) await client.send('PutItem', { TableName, Item });
  const around = {
    clock: time.clock,
    timers: time,
    log: recordingLog().log,
    invocations: createInvocations(),
  };
  const term = { number: 5, end: () => {}, confirm: async () => true };
  const shared = { ...around, table, timing: defaultQueueTiming };
  const pumps = isShared ? createPumps(shared, term) : createPumps(shared);
  const delivered = new Map<QueueName, { body: Record<string, unknown>; receiveCount: number }[]>();
  for (const name of names) {
    const all: { body: Record<string, unknown>; receiveCount: number }[] = [];
    delivered.set(name, all);
    await pumps[name].deliverTo(async ({ body, receiveCount }) => {
      all.push({ body: JSON.parse(body), receiveCount });
      return true;
    });
  }
  if (isShared) pollInbox({ table, term, pumps, timers: time, log: around.log });
  const dead = (await pumps.reconciles.gauge.read()).deadLettersAt;
  for (let turn = 0; turn < 60; turn += 1) await time.advance(1_000);
  const left = [...table.store.all()].map(({ pk }) => pk);
  return { of: (name: string) => delivered.get(name as QueueName) ?? [], dead, left };
}

const withoutCause = ({ correlationId, ...message }: Record<string, unknown>) => message;

describe('what a server of an older version left', () => {
  const own = queued.items.filter(({ pk }) => pk !== 'QUEUE#INBOX');

  it('is delivered: reconciles with their failures, what is sent, and dead letters are told', async () => {
    const { of, dead, left } = await deliveredFrom(own, { isShared: false });
    const failed = ['failed', 'led'].map((tenant) => ({ tenant, reason: 'manual', full: true }));
    const reconciles = [...messagesOf('reconciles'), ...failed];
    const got = of('reconciles');
    expect(got.map(({ body }) => withoutCause(body))).toEqual(expect.arrayContaining(reconciles));
    expect(got).toHaveLength(reconciles.length);
    expect(got.find(({ body }) => body['tenant'] === 'failed')?.receiveCount).toBe(4);
    expect(of('webhooks').map(({ body }) => body)).toEqual(
      expect.arrayContaining([...messagesOf('webhooks')]),
    );
    expect(
      of('webhooks')
        .map(({ receiveCount }) => receiveCount)
        .sort(),
    ).toEqual([1, 1, 1, 3]);
    expect(of('emails').map(({ body }) => body)).toEqual(expect.arrayContaining([...messagesOf('emails')]));
    expect(dead).toBe('dead');
    expect(left).toEqual(['QUEUE#RECOUNTS#DEAD']);
  });

  it('is delivered by the next leader, also from the inbox', async () => {
    const { of, left } = await deliveredFrom(queued.items, { isShared: true });
    for (const name of names) {
      const got = of(name).map(({ body }) => withoutCause(body));
      // Its URLs are secrets: what is copied was never in the table.
      const expected = (name as string) === 'copies' ? [] : [...messagesOf(name)];
      expect(got).toEqual(expect.arrayContaining(expected));
    }
    expect(left).toEqual(['QUEUE#RECOUNTS#DEAD']);
  });
});
