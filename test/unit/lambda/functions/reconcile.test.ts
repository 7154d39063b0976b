import { setTimeout } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { LedgerUnavailableError } from '../../../../lambda/core/rules/errors.ts';
import { longPause, pauseMs, unreadableDelayMs } from '../../../../lambda/core/rules/jobs.ts';
import { systemClock } from '../../../../lambda/frame/aws/clock-and-ids.ts';
import { createInvocationLog, createInvocations } from '../../../../lambda/frame/aws/invocation-log.ts';
import { onSqs, type Redelivery } from '../../../../lambda/frame/aws/sqs-consumer.ts';
import type { Failures } from '../../../../lambda/frame/failures/failure-store.ts';
import { create } from '../../../../lambda/frame/work/reconcile.ts';
import { parseDeploymentSettings } from '../../../../lib/settings/stages.ts';
import { lambdaContext, noMetrics } from '../../../../local/lambda-context.ts';
import { sqsEvent } from '../../../support/delivery.ts';
import { memoryDeps } from '../../../support/memory/deps.ts';
import { MemoryLedger } from '../../../support/memory/ledger.ts';
import { recordingLog } from '../../../support/recording-log.ts';

class AbsentTable extends MemoryLedger {
  override readTenant = async (): Promise<never> => {
    throw new LedgerUnavailableError('The table does not answer.');
  };
}

/** Delivers a message to the handler, and records what the handler asked of the queue. */
async function deliver(given: {
  ledger?: MemoryLedger;
  failures?: number;
  receiveCount?: string;
  delay?: Redelivery['delay'];
  note?: Failures['note'];
  body?: unknown;
}) {
  const asked: Parameters<Redelivery['delay']>[0][] = [];
  const delay: Redelivery['delay'] = async (input) => {
    asked.push(input);
    await given.delay?.(input);
  };
  const { log, entries } = recordingLog();
  const scanned: string[] = [];
  const invocations = createInvocations();
  const sent: (string | undefined)[] = [];
  const metrics = {
    ...noMetrics,
    increment: (name: string) => void scanned.push(name),
    flush: () => void sent.push(invocations.current()?.messageId),
  };
  const deps = memoryDeps({
    ledger: given.ledger ?? new MemoryLedger(),
    clock: systemClock,
    invocations,
    metrics,
    log: createInvocationLog(log, invocations),
  });
  const { failures } = deps;
  const note = given.note ?? ((failure) => failures.note(failure));
  const consume = create({ ...deps, failures: { list: () => failures.list(), note } });
  const handler = onSqs({ log: deps.log, redelivery: { delay } }, consume);
  const request = { tenant: 'acme', reason: 'upload', full: false, correlationId: 'request-1' };
  const { body = request, failures: failed = 0 } = given;
  const receiveCount = given.receiveCount ?? String(failed + 1);
  const context = lambdaContext({ functionName: 'reconcile', timeLimitMs: 300_000 });
  const answer = await handler(sqsEvent(body, { messageId: 'm1', receiveCount, group: 'acme' }), context);
  return { answer, asked, entries, scanned, sent, context, noted: await failures.list() };
}

const returned = { batchItemFailures: [{ itemIdentifier: 'm1' }] };

describe('a reconcile that fails', () => {
  it.each([
    [0, 60_000],
    [1, 120_000],
    [9, 600_000],
    [99, 600_000],
  ])('after %i failures is redelivered in %i ms', async (failures, delayMs) => {
    const { answer, asked } = await deliver({ ledger: new AbsentTable(), failures });
    expect(answer).toEqual(returned);
    expect(asked).toEqual([{ receiptHandle: `m1#${failures + 1}`, delayMs }]);
  });

  it('has its metrics sent with its message, by which the runbook finds its tenant', async () => {
    const { scanned, sent } = await deliver({ ledger: new AbsentTable() });
    expect(scanned).toContain('ReconcilesFailed');
    expect(sent).toEqual(['m1']);
  });

  it('is redelivered in time though the table does not take the note', async () => {
    let isDelayed = false;
    const delayed = new Promise<void>((resolve) => {
      void deliver({
        ledger: new AbsentTable(),
        note: () => new Promise<never>(() => {}),
        delay: async () => {
          isDelayed = true;
          resolve();
        },
      });
    });
    await Promise.race([delayed, setTimeout(100)]);
    expect(isDelayed).toBe(true);
  });

  it('is noted for the operator, with its tries and why', async () => {
    const { noted } = await deliver({ ledger: new AbsentTable(), failures: 3 });
    expect(noted).toMatchObject([{ kind: 'reconcile', tenant: 'acme', tries: 4, why: 'table' }]);
    expect((await deliver({})).noted).toEqual([]);
    expect((await deliver({ body: 'x' })).noted).toEqual([]);
  });

  it('is returned to the queue even if its delay cannot be set, and the log says so', async () => {
    const delay = () => Promise.reject(new Error('AccessDenied'));
    const { answer, entries } = await deliver({ ledger: new AbsentTable(), delay });
    expect(answer).toEqual(returned);
    expect(entries.map(({ level, fields }) => [level, fields['messageId'], String(fields['error'])])).toEqual(
      [
        ['error', 'm1', 'LedgerUnavailableError: The table does not answer.'],
        ['warn', 'm1', 'Error: AccessDenied'],
      ],
    );
  });

  it('is logged with its tenant, its message, its cause and the invocation', async () => {
    const { entries, context } = await deliver({ ledger: new AbsentTable(), failures: 1 });
    expect(entries.map(({ message, fields }) => ({ message, ...fields }))).toEqual([
      {
        message: 'reconcile failed',
        tenant: 'acme',
        receiveCount: 2,
        error: expect.objectContaining({
          name: 'LedgerUnavailableError',
          message: 'The table does not answer.',
        }),
        messageId: 'm1',
        correlationId: 'request-1',
        functionRequestId: context.awsRequestId,
      },
    ]);
  });

  it('is counted, each try', async () => {
    for (const failures of [0, 7]) {
      const { scanned } = await deliver({ ledger: new AbsentTable(), failures });
      expect(scanned).toEqual(['ReconcilesFailed']);
    }
    expect((await deliver({})).scanned).toEqual([]);
  });

  it('is tried for 2 h 25 min before it becomes a dead letter, with the default settings', () => {
    const { attemptsMax } = parseDeploymentSettings('prod', {}).reconcile;
    const pausesMs = Array.from({ length: attemptsMax - 1 }, (_, index) => pauseMs(longPause, index + 1));
    expect(pausesMs.reduce((sum, each) => sum + each, 0)).toBe(145 * 60_000);
  });

  it.each(['', '0', 'many'])('waits a minute if the number of deliveries is %j', async (receiveCount) => {
    const { asked } = await deliver({ ledger: new AbsentTable(), receiveCount });
    expect(asked).toMatchObject([{ delayMs: 60_000 }]);
  });
});

describe('a message that does not parse', () => {
  const request = { tenant: 'acme', reason: 'upload', full: false };
  it.each([
    ['not valid JSON', 'hello'],
    ['an array', [1, 2, 3]],
    ['null', null],
    ['without a tenant', { ...request, tenant: undefined }],
    ['for an invalid tenant name', { ...request, tenant: '../acme' }],
    ['of a wrong type', { ...request, full: 'yes' }],
    ['without a reason', { ...request, reason: 7 }],
  ])(
    'because it is %s, is redelivered after a second, however often it was delivered',
    async (_what, body) => {
      for (const failures of [0, 7]) {
        const { answer, asked, entries } = await deliver({ body, failures });
        expect(answer).toEqual(returned);
        expect(asked).toEqual([{ receiptHandle: `m1#${failures + 1}`, delayMs: unreadableDelayMs }]);
        expect(entries).toMatchObject([
          { level: 'error', message: 'unreadable message', fields: { messageId: 'm1', group: 'acme' } },
        ]);
      }
    },
  );

  it('becomes a dead letter within a minute', () => {
    const { attemptsMax } = parseDeploymentSettings('prod', {}).reconcile;
    expect(attemptsMax * unreadableDelayMs).toBeLessThan(60_000);
  });

  it('is not copied into the log', async () => {
    const { entries } = await deliver({ body: `{"token": "lfsq_${'a'.repeat(40)}"` });
    expect(JSON.stringify(entries)).not.toContain('aaaa');
  });
});

describe('a message that parses', () => {
  const request = { tenant: 'acme', reason: 'upload', full: false };
  it.each([
    ['a reason that a later release may know', { ...request, reason: 'moon-phase' }],
    ['more than is known', { ...request, priority: 3 }],
    ['no cause', request],
    ['a cause that is not a string', { ...request, correlationId: { nested: true } }],
  ])('is handled even if it has %s', async (_what, body) => {
    expect(await deliver({ body })).toMatchObject({ answer: { batchItemFailures: [] }, asked: [] });
  });

  it.each([['x'.repeat(129)], ['a b'], ['https://store.example/?X-Amz-Signature=0'], ['']])(
    'with the cause %j is handled, and the cause is not logged',
    async (correlationId) => {
      const { entries } = await deliver({ ledger: new AbsentTable(), body: { ...request, correlationId } });
      expect(entries.map(({ fields }) => [fields['messageId'], fields['correlationId']])).toEqual([
        ['m1', undefined],
      ]);
    },
  );
});

it('a reconcile that succeeds does not change the delay of its message', async () => {
  const { answer, asked } = await deliver({ ledger: new MemoryLedger() });
  expect(answer).toEqual({ batchItemFailures: [] });
  expect(asked).toEqual([]);
});
