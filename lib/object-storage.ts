import { CfnOutput, Duration, RemovalPolicy, Stack } from 'aws-cdk-lib';
import { BlockPublicAccess, Bucket, BucketEncryption, ObjectOwnership } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import type { StageSettings } from './settings/stage-settings.ts';

export interface ObjectStorageProps {
  readonly objectStore: StageSettings['objectStore'];
  readonly keepData: boolean;
}

/** Where the objects lie: a bucket of the stack's own, or an S3-compatible store elsewhere. */
export class ObjectStorage extends Construct {
  /** Undefined where the store is external: then there is nothing that IAM could grant. */
  readonly bucket: Bucket | undefined;
  /** Undefined where the store is the stack's own bucket: then the function's role is the credential. */
  readonly credentialsSecretArn: string | undefined;
  /** What a function that reaches the store needs in its environment. */
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
      const bucket = this.#ownBucket(props.keepData);
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

  /** Not versioned: old versions of deleted objects cost the same, and no listing that counts usage shows them. */
  #ownBucket(keepData: boolean): Bucket {
    return new Bucket(this, 'Bucket', {
      blockPublicAccess: BlockPublicAccess.BLOCK_ALL,
      objectOwnership: ObjectOwnership.BUCKET_OWNER_ENFORCED,
      encryption: BucketEncryption.S3_MANAGED,
      enforceSSL: true,
      minimumTLSVersion: 1.2,
      versioned: false,
      // Parts of an upload that was never completed are billed, and are in no listing either.
      lifecycleRules: [{ abortIncompleteMultipartUploadAfter: Duration.days(1) }],
      removalPolicy: keepData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    });
  }
}
