import { Match, type Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { isTenantName } from '../../lambda/core/rules/names.ts';
import { tableDefinition } from '../../lambda/core/table/table.ts';
import { newCdnKey } from '../support/cdn.ts';
import { grantsOf } from './grants-of.ts';
import { expectRefused, externalStore, templateOf } from './stack-template.ts';

let template: Template;

beforeAll(() => {
  template = templateOf();
});

const only = (of: Template, type: string) => {
  const found = Object.values(of.findResources(type));
  expect(found).toHaveLength(1);
  return found[0] ?? {};
};

describe('what a stage keeps', () => {
  it.each([
    // Protected from deletion, so that even a failed first deployment could not delete it.
    ['AWS::DynamoDB::GlobalTable', 'Retain'],
    // After a failed first deployment these are empty, and would only be in the way.
    ['AWS::S3::Bucket', 'RetainExceptOnCreate'],
    ['AWS::SecretsManager::Secret', 'RetainExceptOnCreate'],
  ])('%s is deleted with the stack only if the stage says so', (type, DeletionPolicy) => {
    templateOf({ keepData: false }).hasResource(type, { DeletionPolicy: 'Delete' });
    template.hasResource(type, { DeletionPolicy, UpdateReplacePolicy: 'Retain' });
  });
});

describe('the table', () => {
  it('has the keys and indexes of the definition that tests and the embedded stack use', () => {
    const { TableName: _, ...definition } = tableDefinition('any');
    expect(only(template, 'AWS::DynamoDB::GlobalTable')['Properties']).toMatchObject(definition);
  });

  it('can be restored to any second, and removes only what has an expiry of its own', () => {
    template.hasResource('AWS::DynamoDB::GlobalTable', {
      DeletionPolicy: 'Retain',
      UpdateReplacePolicy: 'Retain',
      Properties: {
        TimeToLiveSpecification: { AttributeName: 'expiresAt', Enabled: true },
        Replicas: [
          {
            DeletionProtectionEnabled: true,
            PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
          },
        ],
      },
    });
  });

  it('is protected from deletion only if it outlives the stack', () => {
    const protection = (of: Template) =>
      only(of, 'AWS::DynamoDB::GlobalTable')['Properties'].Replicas[0].DeletionProtectionEnabled;
    expect([protection(template), protection(templateOf({ keepData: false }))]).toEqual([true, false]);
  });

  it('takes as much as the account lets it, or as the settings say, and so does each index', () => {
    const limitsOf = (of: Template) => {
      const { Properties } = only(of, 'AWS::DynamoDB::GlobalTable');
      expect(Properties.BillingMode).toBe('PAY_PER_REQUEST');
      const { WriteOnDemandThroughputSettings: writes, Replicas, GlobalSecondaryIndexes } = Properties;
      return [
        writes?.MaxWriteRequestUnits,
        Replicas[0].ReadOnDemandThroughputSettings?.MaxReadRequestUnits,
        ...GlobalSecondaryIndexes.map(
          (index: Record<string, { MaxWriteRequestUnits: number }>) =>
            index['WriteOnDemandThroughputSettings']?.MaxWriteRequestUnits,
        ),
        ...(Replicas[0].GlobalSecondaryIndexes ?? []).map(
          (index: Record<string, { MaxReadRequestUnits: number }>) =>
            index['ReadOnDemandThroughputSettings']?.MaxReadRequestUnits,
        ),
      ].filter((limit) => limit !== undefined);
    };
    expect(limitsOf(template)).toEqual([]);
    expect(limitsOf(templateOf({ table: { maxReadUnits: 300, maxWriteUnits: 200 } }))).toEqual([
      200, 300, 200, 200, 300, 300,
    ]);
  });

  it('can be a table restored from a backup', () => {
    const restored = templateOf({ restoredTableName: 'lfs-quota-restored' });
    restored.resourceCountIs('AWS::DynamoDB::GlobalTable', 0);
    restored.hasOutput('TableName', { Value: 'lfs-quota-restored' });
    restored.hasResourceProperties('AWS::Lambda::Function', {
      Environment: { Variables: { LFS_QUOTA_TABLE: 'lfs-quota-restored' } },
    });
    expect(JSON.stringify(restored.findResources('AWS::IAM::Role'))).toContain(
      ':table/lfs-quota-restored/index/by-due',
    );
  });
});

describe('the bucket', () => {
  it('is private, encrypted and unversioned, and removes incomplete uploads', () => {
    template.hasResourceProperties('AWS::S3::Bucket', {
      PublicAccessBlockConfiguration: {
        BlockPublicAcls: true,
        BlockPublicPolicy: true,
        IgnorePublicAcls: true,
        RestrictPublicBuckets: true,
      },
      OwnershipControls: { Rules: [{ ObjectOwnership: 'BucketOwnerEnforced' }] },
      BucketEncryption: {
        ServerSideEncryptionConfiguration: [{ ServerSideEncryptionByDefault: { SSEAlgorithm: 'AES256' } }],
      },
      LifecycleConfiguration: {
        Rules: [
          {
            Status: 'Enabled',
            AbortIncompleteMultipartUpload: { DaysAfterInitiation: 8 },
            // What an earlier setting kept goes too.
            NoncurrentVersionExpiration: { NoncurrentDays: 1 },
            ExpiredObjectDeleteMarker: true,
          },
          Match.objectLike({ Prefix: '_exports/' }),
          Match.objectLike({ Prefix: '_parts/' }),
          Match.objectLike({ Prefix: '_gc/' }),
          Match.objectLike({ Prefix: '_usage/', ExpirationInDays: 402 }),
          Match.objectLike({ Prefix: '_names/', ExpirationInDays: 402 }),
        ],
      },
      VersioningConfiguration: Match.absent(),
    });
  });

  it('serves pages of other origins only if a setting names them', () => {
    template.hasResourceProperties('AWS::S3::Bucket', { CorsConfiguration: Match.absent() });
    templateOf({ corsOrigins: ['https://app.example.com'] }).hasResourceProperties('AWS::S3::Bucket', {
      CorsConfiguration: {
        CorsRules: [
          {
            AllowedOrigins: ['https://app.example.com'],
            AllowedMethods: ['GET', 'HEAD', 'PUT'],
            AllowedHeaders: ['content-type', 'if-none-match', 'x-amz-checksum-sha256', 'x-amz-storage-class'],
            ExposedHeaders: ['ETag'],
            MaxAge: 3600,
          },
        ],
      },
    });
  });

  it('keeps what was deleted for as long as the stage says', () => {
    const keeping = templateOf({ objectStore: { kind: 'bucket', keepDeletedDays: 14 } });
    keeping.hasResourceProperties('AWS::S3::Bucket', {
      VersioningConfiguration: { Status: 'Enabled' },
      LifecycleConfiguration: {
        Rules: [
          {
            Status: 'Enabled',
            NoncurrentVersionExpiration: { NoncurrentDays: 14 },
            ExpiredObjectDeleteMarker: true,
            // Else no rule may expire anything: current versions are the data.
            ExpirationInDays: Match.absent(),
            ExpirationDate: Match.absent(),
          },
          Match.objectLike({ Prefix: '_exports/', NoncurrentVersionExpiration: { NoncurrentDays: 1 } }),
          Match.objectLike({ Prefix: '_parts/', NoncurrentVersionExpiration: { NoncurrentDays: 1 } }),
          Match.objectLike({ Prefix: '_gc/', NoncurrentVersionExpiration: { NoncurrentDays: 1 } }),
          Match.objectLike({ Prefix: '_usage/', NoncurrentVersionExpiration: { NoncurrentDays: 1 } }),
          Match.objectLike({ Prefix: '_names/', NoncurrentVersionExpiration: { NoncurrentDays: 1 } }),
        ],
      },
    });
    // A DELETE that names no version needs the same right as in a bucket without versions.
    expect(Object.fromEntries(grantsOf(keeping))).toEqual(Object.fromEntries(grantsOf(template)));
  });

  it.each([1, 7, 30])(
    'expires what exports store two days after archives of %i days, and what uploads and gc runs leave',
    (keepDays) => {
      templateOf({ exports: { keepDays } }).hasResourceProperties('AWS::S3::Bucket', {
        LifecycleConfiguration: {
          Rules: [
            { ExpirationInDays: Match.absent() },
            { Status: 'Enabled', Prefix: '_exports/', ExpirationInDays: keepDays + 2 },
            { Status: 'Enabled', Prefix: '_parts/', ExpirationInDays: 10 },
            { Status: 'Enabled', Prefix: '_gc/', ExpirationInDays: 32 },
            { Status: 'Enabled', Prefix: '_usage/', ExpirationInDays: 402 },
            { Status: 'Enabled', Prefix: '_names/', ExpirationInDays: 402 },
          ],
        },
      });
      expect(['_exports', '_names', '_parts', '_gc', '_usage'].filter(isTenantName)).toEqual([]);
    },
  );

  it('accepts only TLS 1.2 and newer', () => {
    const denied = (condition: object) =>
      Match.objectLike({ Effect: 'Deny', Action: 's3:*', Condition: condition });
    template.hasResourceProperties('AWS::S3::BucketPolicy', {
      PolicyDocument: {
        Statement: [
          denied({ Bool: { 'aws:SecureTransport': 'false' } }),
          denied({ NumericLessThan: { 's3:TlsVersion': 1.2 } }),
        ],
      },
    });
  });

  it('is not created if the store is external', () => {
    const external = templateOf({ objectStore: externalStore });
    external.resourceCountIs('AWS::S3::Bucket', 0);
    external.hasOutput('BucketName', { Value: 'lfs-objects' });
    external.hasResourceProperties('AWS::Lambda::Function', {
      Environment: {
        Variables: {
          LFS_QUOTA_BUCKET: 'lfs-objects',
          LFS_QUOTA_S3_REGION: 'auto',
          LFS_QUOTA_S3_ENDPOINT: externalStore.endpoint,
          LFS_QUOTA_S3_CREDENTIALS_SECRET_ARN: Match.stringLikeRegexp('secret:r2-AbCdEf$'),
        },
      },
    });
  });
});

describe('a bucket that an earlier deployment kept', () => {
  const kept = { objectStore: { kind: 'bucket' as const, existingBucket: 'lfs-quota-prod-kept' } };
  const attached = templateOf(kept);

  it('is used instead of one of its own', () => {
    attached.resourceCountIs('AWS::S3::Bucket', 0);
    attached.hasOutput('BucketName', { Value: 'lfs-quota-prod-kept' });
    const variables = Object.values(attached.findResources('AWS::Lambda::Function')).flatMap(
      ({ Properties }) => Properties.Environment.Variables.LFS_QUOTA_BUCKET ?? [],
    );
    expect(new Set(variables)).toEqual(new Set(['lfs-quota-prod-kept']));
    expect(variables).toHaveLength(
      JSON.stringify(template.findResources('AWS::Lambda::Function')).split('"LFS_QUOTA_BUCKET"').length - 1,
    );
  });

  it('is granted as one of its own is, and has the same policy', () => {
    const arn = 'arn:AWS::Partition:s3:::lfs-quota-prod-kept';
    const own = [...grantsOf(template)].map(([name, lines]) => [
      name,
      lines.map((line) => line.replace(' on ObjectStorageBucket', ` on ${arn}`)).sort(),
    ]);
    expect([...grantsOf(attached)]).toEqual(own);
    const statementsOf = (of: Template): { Resource: unknown }[] =>
      only(of, 'AWS::S3::BucketPolicy')['Properties'].PolicyDocument.Statement;
    const name = (resources: unknown) =>
      JSON.stringify(resources).match(/:s3:::lfs-quota-prod-kept(?:\/\*)?"/g)?.length;
    expect(statementsOf(attached).map(({ Resource, ...rest }) => [rest, name(Resource)])).toEqual(
      statementsOf(template).map(({ Resource: _, ...rest }) => [rest, 2]),
    );
  });

  it('can be downloaded from through CloudFront', () => {
    const { publicKey } = newCdnKey();
    const cdn = { publicKeys: [publicKey], privateKeyArn: externalStore.credentialsSecretArn };
    const behind = templateOf({ objectStore: { ...kept.objectStore, cdn } });
    const [policy] = Object.values(behind.findResources('AWS::S3::BucketPolicy'));
    expect(policy?.['Properties'].PolicyDocument.Statement.at(-1)).toMatchObject({
      Effect: 'Allow',
      Principal: { Service: 'cloudfront.amazonaws.com' },
      Action: 's3:GetObject',
    });
    expect(JSON.stringify(behind.findResources('AWS::CloudFront::Distribution'))).toContain(
      'lfs-quota-prod-kept.s3.',
    );
  });

  it.each([
    [
      { ...kept, storeEvents: true },
      'storeEvents: must be false with an external store or objectStore.existing',
    ],
    [
      { objectStore: { ...kept.objectStore, keepDeletedDays: 7 } },
      'objectStore.keepDeletedDays: must be left out with existingBucket',
    ],
    [
      { objectStore: { kind: 'bucket', existingBucket: 'No_Name' } },
      "objectStore.existingBucket: isn't a bucket name",
    ],
  ])('is refused with what the stack cannot set up of it: %j', (settings, message) => {
    expectRefused(settings, message);
  });
});

describe('the admin token', () => {
  it('is generated with 256 bits, in characters that are safe in shells and headers', () => {
    template.hasResourceProperties('AWS::SecretsManager::Secret', {
      GenerateSecretString: { PasswordLength: 43, ExcludePunctuation: true, IncludeSpace: false },
    });
  });
});
