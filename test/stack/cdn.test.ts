import { Match } from 'aws-cdk-lib/assertions';
import { describe, expect, it, vi } from 'vitest';
import { parseDeploymentSettings } from '../../lib/settings/stages.ts';
import { newCdnKey } from '../support/cdn.ts';
import { grantsOf } from './grants-of.ts';
import { expectRefused, externalStore, templateOf } from './stack-template.ts';

const [first, second] = [newCdnKey(), newCdnKey()];
const privateKeyArn = 'arn:aws:secretsmanager:eu-central-1:111122223333:secret:cdn-AbCdEf';
const withCdn = (publicKeys: readonly unknown[], change: object = {}) => ({
  objectStore: {
    kind: 'bucket' as const,
    cdn: { publicKeys: publicKeys as string[], privateKeyArn, ...change },
  },
});
const template = templateOf(withCdn([first.publicKey]));
const publicKeysOf = (settings: Parameters<typeof templateOf>[0]) =>
  templateOf(settings).findResources('AWS::CloudFront::PublicKey');
const ref = (id: string) => ({ Ref: Match.stringLikeRegexp(`^${id}`) });

describe('CloudFront before the bucket', () => {
  it('answers only what the stage signed, over HTTPS, and keeps it by its path for a day', () => {
    template.hasResourceProperties('AWS::CloudFront::Distribution', {
      DistributionConfig: {
        DefaultCacheBehavior: {
          TrustedKeyGroups: [ref('CdnKeys')],
          ViewerProtocolPolicy: 'https-only',
          Compress: false,
          CachePolicyId: ref('CdnByPath'),
          // GET and HEAD, which is the default.
          AllowedMethods: Match.absent(),
          OriginRequestPolicyId: Match.absent(),
        },
        CacheBehaviors: Match.absent(),
        DefaultRootObject: Match.absent(),
        Logging: Match.absent(),
        CustomErrorResponses: [403, 404].map((ErrorCode) => ({ ErrorCode, ErrorCachingMinTTL: 0 })),
        PriceClass: 'PriceClass_100',
      },
    });
    template.hasResourceProperties('AWS::CloudFront::CachePolicy', {
      CachePolicyConfig: {
        MinTTL: 0,
        DefaultTTL: 86_400,
        MaxTTL: 86_400,
        ParametersInCacheKeyAndForwardedToOrigin: {
          CookiesConfig: { CookieBehavior: 'none' },
          HeadersConfig: { HeaderBehavior: 'none' },
          QueryStringsConfig: { QueryStringBehavior: 'none' },
          EnableAcceptEncodingGzip: false,
          EnableAcceptEncodingBrotli: false,
        },
      },
    });
  });

  it('may read the objects of the bucket, and nothing else, by requests that it signs', () => {
    template.hasResourceProperties('AWS::CloudFront::OriginAccessControl', {
      OriginAccessControlConfig: {
        OriginAccessControlOriginType: 's3',
        SigningBehavior: 'always',
        SigningProtocol: 'sigv4',
      },
    });
    const [policy] = Object.values(template.findResources('AWS::S3::BucketPolicy'));
    const statements: { Effect: string }[] = policy?.['Properties'].PolicyDocument.Statement;
    const own = templateOf().findResources('AWS::S3::BucketPolicy');
    const [usual] = Object.values(own);
    expect(statements.slice(0, -1)).toEqual(usual?.['Properties'].PolicyDocument.Statement);
    expect(statements.at(-1)).toEqual({
      Effect: 'Allow',
      Principal: { Service: 'cloudfront.amazonaws.com' },
      Action: 's3:GetObject',
      Resource: {
        'Fn::Join': ['', [{ 'Fn::GetAtt': [expect.stringMatching(/^ObjectStorageBucket/), 'Arn'] }, '/*']],
      },
      Condition: { StringEquals: { 'AWS:SourceArn': expect.anything() } },
    });
    expect(JSON.stringify(statements.at(-1))).toMatch(/:distribution\/",\{"Ref":"CdnDistribution/);
  });

  it('signs by the batch function, which alone can read the key', () => {
    const usual = grantsOf(templateOf());
    const added = [...grantsOf(template)].flatMap(([name, lines]) =>
      lines.filter((line) => !usual.get(name)?.includes(line)).map((line) => [name, line]),
    );
    expect(added).toEqual([['lfsBatch', `secretsmanager:GetSecretValue on ${privateKeyArn}`]]);
    const told = Object.entries(template.findResources('AWS::Lambda::Function')).filter(
      ([, { Properties }]) => 'LFS_QUOTA_CDN_URL' in Properties.Environment.Variables,
    );
    expect(told.map(([id]) => id)).toEqual([expect.stringMatching(/^FunctionslfsBatchFunction/)]);
    expect(told[0]?.[1]['Properties'].Environment.Variables).toMatchObject({
      LFS_QUOTA_CDN_URL: {
        'Fn::Join': [
          '',
          ['https://', { 'Fn::GetAtt': [expect.stringMatching(/^CdnDistribution/), 'DomainName'] }],
        ],
      },
      LFS_QUOTA_CDN_KEY_ID: { 'Fn::GetAtt': [expect.stringMatching(/^CdnKey/), 'Id'] },
      LFS_QUOTA_CDN_PUBLIC_KEY: first.publicKey,
      LFS_QUOTA_CDN_SECRET_ARN: privateKeyArn,
    });
  });

  it('has each key under a name of its own, because none can change, and signs by the first', () => {
    const [old] = Object.keys(publicKeysOf(withCdn([first.publicKey])));
    const both = withCdn([second.publicKey, first.publicKey]);
    const [added, kept] = Object.keys(publicKeysOf(both)).sort((a) => (a === old ? 1 : -1));
    expect([added === old, kept]).toEqual([false, old]);
    templateOf(both).hasResourceProperties('AWS::CloudFront::KeyGroup', {
      KeyGroupConfig: { Items: [{ Ref: added }, { Ref: kept }] },
    });
    const environments = JSON.stringify(templateOf(both).findResources('AWS::Lambda::Function'));
    expect(environments).toContain(`"LFS_QUOTA_CDN_KEY_ID":{"Fn::GetAtt":["${added}","Id"]}`);
  });

  it('does not exist without the setting', () => {
    expect(JSON.stringify(templateOf().toJSON())).not.toMatch(/CloudFront|LFS_QUOTA_CDN/);
  });
});

describe('its settings', () => {
  it.each(['us-gov-west-1', 'us-gov-east-1', 'cn-north-1', 'us-iso-east-1', 'us-isob-east-1'])(
    'are rejected in %s, where a deployment would fail, also if the region is that of the command line',
    (region) => {
      const settings = withCdn([first.publicKey], {
        privateKeyArn: `arn:aws:secretsmanager:${region}:111122223333:secret:cdn-AbCdEf`,
      });
      const message = `objectStore.cdn: must be left out in ${region}`;
      expectRefused({ ...settings, region }, message);
      expect(() => parseDeploymentSettings('prod', settings)).not.toThrow();
      vi.stubEnv('CDK_DEFAULT_REGION', region);
      try {
        expectRefused(settings, message);
      } finally {
        vi.unstubAllEnvs();
      }
    },
  );

  const isNoKey = "objectStore.cdn.publicKeys.0: isn't the PEM of a P-256 public key";

  it.each([
    [withCdn([first.privateKey]), isNoKey],
    [withCdn([newCdnKey('P-384').publicKey]), isNoKey],
    [withCdn(['ssh-ed25519 AAAA']), isNoKey],
    [withCdn([]), 'objectStore.cdn.publicKeys: Too small'],
    [withCdn([first.publicKey, first.publicKey.trim()]), 'objectStore.cdn.publicKeys: has a key twice'],
    [withCdn([first.publicKey], { privateKeyArn: 'arn:x' }), 'privateKeyArn: '],
    [
      { region: 'eu-west-1', ...withCdn([first.publicKey]) },
      "objectStore.cdn.privateKeyArn: must be in the deployment's region, eu-west-1",
    ],
    [
      { objectStore: { ...externalStore, cdn: withCdn([first.publicKey]).objectStore.cdn } },
      "objectStore: can't have cdn: CloudFront serves only a store of kind bucket.",
    ],
  ])('are rejected if they cannot work: %j', (settings, message) => {
    expectRefused(settings, message);
  });

  it('are none by default', () => {
    expect(parseDeploymentSettings('prod', {}).objectStore).toEqual({ kind: 'bucket', keepDeletedDays: 0 });
  });
});
