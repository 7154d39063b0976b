import { CfnOutput, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { BlockPublicAccess, Bucket, BucketEncryption, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { cleanupFolder } from '../lambda/domain/cleanup/cleanup-keys.ts';
import { exportsFolder } from '../lambda/domain/export/export-keys.ts';
import type { StageSettings } from './settings/stage-settings.ts';

/** Longer than a clean-up can be under way. */
const cleanupDays = 32;

export interface ObjectStorageProps {
  readonly objectStore: StageSettings['objectStore'];
  readonly keepData: boolean;
  /** Days for which archives of exports are kept. */
  readonly archiveDays: number;
}

/** Where objects are stored: the stack's own bucket, or an external S3-compatible store. */
export class ObjectStorage extends Construct {
  /** Undefined if the store is external: IAM can grant nothing there. */
  readonly bucket: Bucket | undefined;
  /** Undefined if the store is the stack's own bucket: the function's role is the credential. */
  readonly credentialsSecretArn: string | undefined;
  /** Environment variables of a function that reaches the store. */
  readonly environment: Readonly<Record<string, string>>;

  constructor(scope: Construct, id: string, props: ObjectStorageProps) {
    super(scope, id);
    const store = props.objectStore;
    if (store.kind === 'external') {
      this.credentialsSecretArn = store.credentialsSecretArn;
      this.environment = {
        LFS_QUOTA_BUCKET: store.bucket,
        LFS_QUOTA_S3_REGION: store.region,
        LFS_QUOTA_S3_ENDPOINT: store.endpoint,
        LFS_QUOTA_S3_CREDENTIALS_SECRET_ARN: store.credentialsSecretArn,
      };
    } else {
      const bucket = this.#ownBucket({ ...props, keepDeletedDays: store.keepDeletedDays });
      this.bucket = bucket;
      this.environment = {
        LFS_QUOTA_BUCKET: bucket.bucketName,
        LFS_QUOTA_S3_REGION: Stack.of(this).region,
      };
    }
    new CfnOutput(this, 'BucketName', {
      value: this.environment['LFS_QUOTA_BUCKET'] ?? '',
    }).overrideLogicalId('BucketName');
  }

  /**
   * Usage is what listings show, so current versions alone. Versions that are kept longer are billed, and counted
   * nowhere: by default there are none.
   */
  #ownBucket(options: { keepData: boolean; keepDeletedDays: number; archiveDays: number }): Bucket {
    const { keepData, keepDeletedDays, archiveDays } = options;
    return new Bucket(this, 'Bucket', {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      encryption: BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      versioned: keepDeletedDays > 0,
      lifecycleRules: [
        {
          // Parts of an incomplete multipart upload are billed, and no listing counts them. An export may take a day.
          abortIncompleteMultipartUploadAfter: Duration.days(2),
          // Also without versions: a bucket that once kept them may still hold some.
          noncurrentVersionExpiration: Duration.days(Math.max(1, keepDeletedDays)),
          expiredObjectDeleteMarker: true,
        },
        {
          // Exports remove what they made. This is for what they could not: a day to make an archive, and one more.
          prefix: `${exportsFolder}/`,
          expiration: Duration.days(archiveDays + 2),
          // Whoever keeps what tenants delete need not keep archives of it.
          noncurrentVersionExpiration: Duration.days(1),
        },
        {
          // Of clean-ups that were not ended, and of their dry runs. A watch is open for 30 days at most.
          prefix: `${cleanupFolder}/`,
          expiration: Duration.days(cleanupDays),
          noncurrentVersionExpiration: Duration.days(1),
        },
      ],
      // What a failed first deployment made is empty, and goes with it.
      removalPolicy: keepData ? RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE : RemovalPolicy.DESTROY,
    });
  }
}
