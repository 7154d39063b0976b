import { createHash } from 'node:crypto';
import {
  ChangeMessageVisibilityCommand,
  GetQueueAttributesCommand,
  SendMessageBatchCommand,
  SendMessageCommand,
} from '@aws-sdk/client-sqs';
import { createSqsClient } from '../../../../../lambda/frame/aws/sqs.ts';
import { FakeService, type ServiceAnswer, type ServiceCall } from './fake-service.ts';

export const queueUrl = 'https://sqs.eu-central-1.amazonaws.com/111122223333/reconciles.fifo';

interface Entry {
  readonly Id?: string;
  readonly MessageBody: string;
  readonly MessageGroupId: string;
  readonly MessageDeduplicationId: string;
}

const takenOf = ({ Id, MessageBody }: Entry) => ({
  ...(Id !== undefined && { Id }),
  MessageId: 'message',
  MD5OfMessageBody: createHash('md5').update(MessageBody).digest('hex'),
});

export const entriesOf = ({ input }: ServiceCall) =>
  (input['Entries'] ?? [input]) as unknown as readonly Entry[];

/** SQS takes every message, but those whose id is refused. */
export function take(call: ServiceCall, refusedId?: string): ServiceAnswer {
  if (call.operation === 'ChangeMessageVisibility') return { body: {} };
  const entries = entriesOf(call);
  if (call.operation === 'SendMessage') return { body: entries.map(takenOf)[0] };
  const Failed = entries
    .filter(({ Id }) => Id === refusedId)
    .map(({ Id }) => ({ Id, Code: 'InternalError', SenderFault: false }));
  return { body: { Successful: entries.filter(({ Id }) => Id !== refusedId).map(takenOf), Failed } };
}

const commands = {
  ChangeMessageVisibility: ChangeMessageVisibilityCommand,
  GetQueueAttributes: GetQueueAttributesCommand,
  SendMessage: SendMessageCommand,
  SendMessageBatch: SendMessageBatchCommand,
};

/** A client of an SQS in memory, which takes every message unless it is told otherwise. */
export function fakeSqs() {
  const client = createSqsClient(undefined, { region: 'eu-central-1' });
  const sqs = new FakeService(client, commands, take);
  const sent = () => sqs.calls.filter(({ operation }) => operation.startsWith('Send')).flatMap(entriesOf);
  return { sqs, client, sent };
}
