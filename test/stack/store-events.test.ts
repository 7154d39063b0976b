import { Match, type Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { arnOf, expectRefused, externalStore, givesUpTo, liveOf, templateOf } from './stack-template.ts';

const queueArn = arnOf('StoreEventsQueue');

describe('events of the store', () => {
  let template: Template;

  beforeAll(() => {
    template = templateOf({ storeEvents: true });
  });

  it('are off by default', () => {
    const usual = templateOf();
    usual.hasResourceProperties('AWS::S3::Bucket', { NotificationConfiguration: Match.absent() });
    expect(JSON.stringify(usual.toJSON())).not.toMatch(/storeEvents/i);
  });

  it('go from the bucket to their own queue, for every object created or removed', () => {
    template.hasResourceProperties('AWS::S3::Bucket', {
      NotificationConfiguration: {
        QueueConfigurations: [
          { Event: 's3:ObjectCreated:*', Queue: queueArn },
          { Event: 's3:ObjectRemoved:*', Queue: queueArn },
        ],
      },
    });
  });

  it('need no function that may change the notifications of any bucket', () => {
    expect(Object.keys(template.findResources('Custom::S3BucketNotifications'))).toEqual([]);
    expect(JSON.stringify(template.toJSON())).not.toContain('PutBucketNotification');
  });

  it('may be sent only by buckets of this account and stage, and only over TLS', () => {
    template.hasResourceProperties('AWS::SQS::QueuePolicy', {
      Queues: [{ Ref: Match.stringLikeRegexp('^StoreEventsQueue') }],
      PolicyDocument: {
        Statement: [
          Match.objectLike({ Effect: 'Deny', Condition: { Bool: { 'aws:SecureTransport': 'false' } } }),
          {
            Effect: 'Allow',
            Action: 'sqs:SendMessage',
            Principal: { Service: 's3.amazonaws.com' },
            Resource: queueArn,
            Condition: {
              StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } },
              ArnLike: {
                'aws:SourceArn': {
                  'Fn::Join': ['', ['arn:', { Ref: 'AWS::Partition' }, ':s3:::lfs-quota-test*']],
                },
              },
            },
          },
        ],
      },
    });
  });

  it('are allowed by a policy that exists before the bucket', () => {
    const [bucket] = Object.values(template.findResources('AWS::S3::Bucket'));
    expect(bucket?.['DependsOn']).toContainEqual(expect.stringMatching(/^StoreEventsQueuePolicy/));
  });

  it('are batched, redelivered one by one if they failed, and at last are dead letters', () => {
    template.hasResourceProperties('AWS::Lambda::EventSourceMapping', {
      BatchSize: 500,
      MaximumBatchingWindowInSeconds: 20,
      FunctionResponseTypes: ['ReportBatchItemFailures'],
      ScalingConfig: { MaximumConcurrency: 2 },
      EventSourceArn: queueArn,
      FunctionName: liveOf('storeEvents'),
    });
    template.hasResourceProperties('AWS::SQS::Queue', {
      FifoQueue: Match.absent(),
      SqsManagedSseEnabled: true,
      VisibilityTimeout: 6 * 60 + 20,
      RedrivePolicy: givesUpTo('StoreEventsDeadLetterQueue'),
    });
  });

  it('change no other resource of a stage than bucket, dashboard and who may look at their queues', () => {
    const [off, on] = [templateOf(), template].map((each) => each.toJSON()['Resources']);
    const changed = Object.keys(off).filter((id) => JSON.stringify(off[id]) !== JSON.stringify(on[id]));
    expect(changed.map((id) => off[id].Type).sort()).toEqual([
      'AWS::CloudWatch::Dashboard',
      'AWS::IAM::Role',
      'AWS::Lambda::Alias',
      'AWS::Lambda::Function',
      'AWS::Lambda::Version',
      'AWS::S3::Bucket',
    ]);
    const management = changed.filter((id) => /^Functions/.test(id));
    expect(management.filter((id) => !/^Functionsmanagement/.test(id))).toEqual([]);
    const added = Object.keys(on).filter((id) => !(id in off));
    expect(added.filter((id) => !/StoreEvents|^FunctionsmanagementFunctionCurrentVersion/i.test(id))).toEqual(
      [],
    );
  });

  it('are rejected with an external store', () => {
    expectRefused(
      { storeEvents: true, objectStore: externalStore },
      'storeEvents: must be false with an external store',
    );
  });
});
