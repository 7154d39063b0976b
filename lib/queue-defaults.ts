import { Duration } from 'aws-cdk-lib';
import { QueueEncryption } from 'aws-cdk-lib/aws-sqs';

/** What every queue has: encryption, TLS alone, and the longest time to look at what was given up. */
export const queueDefaults = {
  encryption: QueueEncryption.SQS_MANAGED,
  enforceSSL: true,
  retentionPeriod: Duration.days(14),
};
