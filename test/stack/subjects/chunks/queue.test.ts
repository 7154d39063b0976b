import { Match } from 'aws-cdk-lib/assertions';
import { describe, it } from 'vitest';
import { arnOf, givesUpTo, templateOf } from '../../stack-template.ts';

describe('the queue of chunked uploads', () => {
  it('brings a message back a minute after the longest run, and has its own dead-letter queue', () => {
    templateOf().hasResourceProperties('AWS::SQS::Queue', {
      FifoQueue: Match.absent(),
      VisibilityTimeout: 900 + 60,
      RedrivePolicy: givesUpTo('ChunkWorkDeadLetterQueue'),
    });
  });

  it.each([2, 4, 1_000])('delivers one message to a run, to %i at a time', (chunkWorkers) => {
    templateOf({ chunkWorkers, accountConcurrency: 10_000 }).hasResourceProperties(
      'AWS::Lambda::EventSourceMapping',
      {
        BatchSize: 1,
        FunctionResponseTypes: ['ReportBatchItemFailures'],
        ScalingConfig: { MaximumConcurrency: chunkWorkers },
        EventSourceArn: arnOf('ChunkWorkQueue'),
      },
    );
  });
});
