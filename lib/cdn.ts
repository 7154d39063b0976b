import { Duration, Stack } from 'aws-cdk-lib';
import {
  CachePolicy,
  CfnPublicKey,
  Distribution,
  KeyGroup,
  PriceClass,
  S3OriginAccessControl,
  ViewerProtocolPolicy,
} from 'aws-cdk-lib/aws-cloudfront';
import { S3BucketOrigin } from 'aws-cdk-lib/aws-cloudfront-origins';
import type { IBucket } from 'aws-cdk-lib/aws-s3';
import { Construct } from 'constructs';
import { sha256Hex } from '../lambda/core/rules/hash.ts';
import { publicKeyIn } from '../lambda/core/store/rules/cdn-keys.ts';
import type { DeploymentSettings } from './settings/deployment-settings.ts';

type CdnSettings = NonNullable<Extract<DeploymentSettings['objectStore'], { kind: 'bucket' }>['cdn']>;

/** CloudFront before the stage's bucket. It answers only URLs that the stage signed. */
export class Cdn extends Construct {
  readonly secretArn: string;
  /** Environment variables of a function that signs downloads. */
  readonly environment: Readonly<Record<string, string>>;

  constructor(scope: Construct, id: string, props: { bucket: IBucket; settings: CdnSettings }) {
    super(scope, id);
    const { publicKeys, privateKeyArn } = props.settings;
    const { stackName, region } = Stack.of(this);
    // Names of CloudFront are those of all regions of the account.
    const ownName = `${stackName}-${region}`;
    const pems = publicKeys.map((pem) => publicKeyIn(pem) ?? pem);
    const keys = pems.map((encodedKey) => {
      // CloudFront can't change a key: another one is another resource.
      const keyId = `Key${sha256Hex(encodedKey).slice(0, 8)}`;
      const name = `${ownName}-${keyId}`;
      return new CfnPublicKey(this, keyId, { publicKeyConfig: { name, callerReference: name, encodedKey } });
    });
    const keyGroup = new KeyGroup(this, 'Keys', { items: keys, keyGroupName: ownName });
    const access = { originAccessControlName: ownName };
    const originAccessControl = new S3OriginAccessControl(this, 'Access', access);
    const distribution = new Distribution(this, 'Distribution', {
      comment: `Downloads of ${stackName}`,
      // Others are served from these places: slower, at their price.
      priceClass: PriceClass.PRICE_CLASS_100,
      defaultBehavior: {
        // It may read objects, and not list the bucket.
        origin: S3BucketOrigin.withOriginAccessControl(props.bucket, { originAccessControl }),
        trustedKeyGroups: [keyGroup],
        viewerProtocolPolicy: ViewerProtocolPolicy.HTTPS_ONLY,
        compress: false,
        // By the path alone. An uploader can set Cache-Control, so there is a longest time.
        cachePolicy: new CachePolicy(this, 'ByPath', {
          defaultTtl: Duration.days(1),
          maxTtl: Duration.days(1),
        }),
      },
      // An object that is missing may be pushed again at any time.
      errorResponses: [403, 404].map((httpStatus) => ({ httpStatus, ttl: Duration.seconds(0) })),
    });
    this.secretArn = privateKeyArn;
    this.environment = {
      LFS_QUOTA_CDN_URL: `https://${distribution.distributionDomainName}`,
      LFS_QUOTA_CDN_KEY_ID: keys[0]?.attrId ?? '',
      LFS_QUOTA_CDN_PUBLIC_KEY: pems[0] ?? '',
      LFS_QUOTA_CDN_SECRET_ARN: privateKeyArn,
    };
  }
}
