import { ChangeMessageVisibilityCommand, SQSClient } from '@aws-sdk/client-sqs';
import { mockClient } from 'aws-sdk-client-mock';
import { afterEach, describe, expect, it } from 'vitest';
import { createSqsRedelivery } from '../../lambda/adapters/aws/sqs-redelivery.ts';
import { MemoryLedger } from '../../lambda/adapters/memory/memory-ledger.ts';
import { MemoryObjectStore } from '../../lambda/adapters/memory/memory-object-store.ts';
import { noMetrics } from '../../lambda/adapters/no-metrics.ts';
import { systemClock } from '../../lambda/adapters/system-clock.ts';
import { systemIds } from '../../lambda/adapters/system-ids.ts';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import { create } from '../../lambda/handlers/reconcile.ts';
import { LedgerUnavailableError } from '../../lambda/ports/ledger.ts';
import type { Redelivery } from '../../lambda/ports/redelivery.ts';
import { redeliveryDelayMs } from '../../lambda/use-cases/delay-redelivery.ts';
import { createPathScan } from '../../lambda/use-cases/scan/path-scan.ts';
import { lambdaContext } from '../../local/lambda-context.ts';
import { newMessage } from '../../local/queue-message.ts';
import { toSqsEvent } from '../../local/sqs-event.ts';
import { recordingLog } from '../embedded/recording-log.ts';

class AbsentTable extends MemoryLedger {
  override async readTenant(): Promise<never> {
    throw new LedgerUnavailableError('The table does not answer.');
  }
}

/** One delivery of a message to the handler, and what the handler asked of the queue. */
async function deliver(given: { ledger: MemoryLedger; failures?: number; delay?: Redelivery['delay'] }) {
  const asked: Parameters<Redelivery['delay']>[0][] = [];
  const delay: Redelivery['delay'] = async (input) => {
    asked.push(input);
    await given.delay?.(input);
  };
  const { log, entries } = recordingLog();
  const store = new MemoryObjectStore();
  const [clock, settings] = [systemClock, defaultSettings];
  const handler = create({
    ...{ store, clock, settings, log, ledger: given.ledger, ids: systemIds },
    listing: store,
    scan: createPathScan({ listing: store, clock, settings }),
    queue: { request: async () => undefined, requestAll: async () => undefined },
    metrics: noMetrics,
    redelivery: { delay },
  });
  const request = { tenant: 'acme', reason: 'upload', full: false } as const;
  const message = { ...newMessage(request, { nowMs: 0, messageId: 'm1' }), failures: given.failures ?? 0 };
  const context = lambdaContext({ functionName: 'reconcile', timeLimitMs: 300_000 });
  return { answer: await handler(toSqsEvent(message), context), asked, entries };
}

const takenBack = { batchItemFailures: [{ itemIdentifier: 'm1' }] };

describe('a recount that fails', () => {
  it.each([
    [0, 60_000],
    [1, 120_000],
    [4, 300_000],
    [99, 900_000],
  ])('after %i failures comes again in %i ms', async (failures, delayMs) => {
    const { answer, asked } = await deliver({ ledger: new AbsentTable(), failures });
    expect(answer).toEqual(takenBack);
    expect(asked).toEqual([{ receiptHandle: `m1#${failures + 1}`, delayMs }]);
  });

  it('is taken back though the queue does not hear when, and the log says so', async () => {
    const delay = () => Promise.reject(new Error('AccessDenied'));
    const { answer, entries } = await deliver({ ledger: new AbsentTable(), delay });
    expect(answer).toEqual(takenBack);
    expect(entries.map(({ level, fields }) => [level, fields['messageId'], fields['reason']])).toEqual([
      ['error', 'm1', 'LedgerUnavailableError: The table does not answer.'],
      ['warn', 'm1', 'Error: AccessDenied'],
    ]);
  });

  it('waits a minute where the count of deliveries is not told', () => {
    expect(redeliveryDelayMs(Number.NaN)).toBe(60_000);
    expect(redeliveryDelayMs(0)).toBe(60_000);
  });
});

it('a recount that succeeds changes nothing about its message', async () => {
  const { answer, asked } = await deliver({ ledger: new MemoryLedger() });
  expect(answer).toEqual({ batchItemFailures: [] });
  expect(asked).toEqual([]);
});

describe('on SQS', () => {
  const sqs = mockClient(SQSClient);
  afterEach(() => void sqs.reset());

  it('the one delivery stays hidden for whole seconds, not shorter than asked for', async () => {
    sqs.on(ChangeMessageVisibilityCommand).resolves({});
    const queueUrl = 'https://sqs.eu-central-1.amazonaws.com/111122223333/recounts.fifo';
    await createSqsRedelivery({ queueUrl }).delay({ receiptHandle: 'handle', delayMs: 60_001 });
    expect(sqs.commandCalls(ChangeMessageVisibilityCommand).map(({ args }) => args[0].input)).toEqual([
      { QueueUrl: queueUrl, ReceiptHandle: 'handle', VisibilityTimeout: 61 },
    ]);
  });
});
