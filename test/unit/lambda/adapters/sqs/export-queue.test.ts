import { describe, expect, it } from 'vitest';
import { createSqsExportQueue } from '../../../../../lambda/adapters/sqs/export-queue.ts';
import { createInvocations } from '../../../../../lambda/adapters/system/invocations.ts';
import { decodeExportMessage } from '../../../../../lambda/events/export-message.ts';
import type { ExportMessage } from '../../../../../lambda/ports/export-queue.ts';
import { fakeSqs, queueUrl, take } from './fake-sqs.ts';

function open() {
  const { sqs, client, sent } = fakeSqs();
  const slept: number[] = [];
  const clock = { sleep: async (ms: number) => void slept.push(ms) };
  const invocations = createInvocations();
  const queue = createSqsExportQueue({ client, queueUrl, clock, invocations });
  return { queue, sqs, sent, slept, invocations };
}

const of = { tenant: 'acme', exportId: '0Id-_9' };
const unit = (index: number): ExportMessage => ({
  ...of,
  step: { kind: 'unit', round: 1, state: 'copying', unit: index },
});
const units = (count: number) => Array.from({ length: count }, (_, index) => unit(index));

describe('steps of exports', () => {
  it('are sent ten in each request, all at once, to a queue that is no FIFO', async () => {
    const { queue, sqs, sent } = open();
    await queue.send([...units(22), { ...of, step: { kind: 'advance' } }]);
    const entries = sqs.calls.map(({ input }) => input['Entries'] as object[]);
    expect(entries.map(({ length }) => length)).toEqual([10, 10, 3]);
    for (const entry of entries.flat()) expect(Object.keys(entry).sort()).toEqual(['Id', 'MessageBody']);
    expect(new Set(sqs.calls.map(({ operation }) => operation))).toEqual(new Set(['SendMessageBatch']));
    expect(sqs.calls[0]?.input['QueueUrl']).toBe(queueUrl);
    const decoded = sent().map(({ MessageBody }) => decodeExportMessage(MessageBody));
    expect(decoded).toEqual([...units(22), { ...of, step: { kind: 'advance' } }]);
  });

  it('have the id of the request that they are for', async () => {
    const { queue, sent, invocations } = open();
    await invocations.during({ correlationId: 'c-1' }, () => queue.send(units(1)));
    expect(sent().map(({ MessageBody }) => decodeExportMessage(MessageBody)?.correlationId)).toEqual(['c-1']);
  });

  it('that were not taken are sent again, three times at most', async () => {
    const { queue, sqs, sent, slept } = open();
    sqs.answer = (call) => take(call, sqs.calls.length === 1 ? '3' : undefined);
    await queue.send(units(5));
    expect(sent().slice(5)).toMatchObject([{ Id: '3' }]);
    sqs.answer = (call) => take(call, '0');
    await expect(queue.send(units(10))).rejects.toThrow('rejected 1 of 10 messages: InternalError');
    expect(slept).toHaveLength(3);
    // Two calls before.
    expect(sqs.calls).toHaveLength(5);
    sqs.answer = (call) => take(call, sqs.calls.length < 8 ? '0' : undefined);
    await queue.send(units(20));
    expect(sent().slice(-2)).toMatchObject([{ Id: '0' }, { Id: '0' }]);
  });

  it('may be none', async () => {
    const { queue, sqs } = open();
    await queue.send([]);
    expect(sqs.calls).toEqual([]);
  });
});
