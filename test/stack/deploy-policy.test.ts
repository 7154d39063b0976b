import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { type DeployedResource, deployed } from './deployed-stack.ts';
import { templateOf } from './stack-template.ts';
import { fixtures } from './stage-fixtures.ts';

/** Actions of one service, without its prefix. */
interface Needs {
  /** On resources that begin with the stack's name ({@link own}). */
  readonly own?: string;
  /** On any resource: the service knows none for these, or its name isn't the stack's. Those of other services have their prefix. */
  readonly any?: string;
}

/**
 * What CloudFormation calls for each type of resource: `handlers` of the type's schema (`aws cloudformation describe-type
 * --type RESOURCE --type-name TYPE --query Schema`), without what only properties need that no template has, such as VPCs, KMS
 * keys, replicas and managed policies.
 */
const needs: Readonly<Record<string, Needs>> = {
  'AWS::ApiGatewayV2::Api': {},
  'AWS::ApiGatewayV2::ApiMapping': {},
  'AWS::ApiGatewayV2::DomainName': {},
  'AWS::ApiGatewayV2::Integration': {},
  'AWS::ApiGatewayV2::Route': {},
  // For its access log: https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-logging.html
  'AWS::ApiGatewayV2::Stage': {
    any: `logs:CreateLogDelivery logs:GetLogDelivery logs:ListLogDeliveries logs:UpdateLogDelivery logs:DeleteLogDelivery
      logs:PutResourcePolicy logs:DescribeResourcePolicies`,
  },
  // Its schema has no handlers: https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsbudgetservice.html
  'AWS::Budgets::Budget': { any: 'ModifyBudget ViewBudget TagResource' },
  'AWS::CloudFront::CachePolicy': { any: '*CachePolicy' },
  'AWS::CloudFront::Distribution': {
    any: '*Distribution CreateDistributionWithTags GetDistributionConfig *TagResource ListTagsForResource',
  },
  'AWS::CloudFront::KeyGroup': { any: '*KeyGroup' },
  'AWS::CloudFront::OriginAccessControl': { any: '*OriginAccessControl' },
  'AWS::CloudFront::PublicKey': { any: '*PublicKey' },
  'AWS::CloudWatch::Alarm': {
    own: 'PutMetricAlarm DeleteAlarms',
    any: 'DescribeAlarms *TagResource ListTagsForResource',
  },
  'AWS::CloudWatch::Dashboard': {
    any: 'PutDashboard GetDashboard DeleteDashboards *TagResource ListTagsForResource',
  },
  'AWS::CodeDeploy::Application': {
    own: '*Application *TagResource ListTagsForResource',
  },
  'AWS::CodeDeploy::DeploymentGroup': {
    own: `*DeploymentGroup *Deployment ListDeployments *ApplicationRevision *TagResource
      ListTagsForResource`,
    any: 'GetDeploymentConfig',
  },
  'AWS::DynamoDB::GlobalTable': {
    own: `CreateTable Describe* UpdateTable UpdateTimeToLive UpdateContinuousBackups DeleteTable GetResourcePolicy
      *TagResource ListTagsOfResource`,
    any: 'application-autoscaling:Describe* cloudwatch:PutMetricData',
  },
  'AWS::Events::Rule': {
    own: `PutRule DescribeRule DeleteRule PutTargets RemoveTargets ListTargetsByRule *TagResource
      ListTagsForResource`,
  },
  'AWS::IAM::Role': {
    own: `CreateRole GetRole UpdateRole UpdateRoleDescription UpdateAssumeRolePolicy DeleteRole PutRolePolicy GetRolePolicy
      DeleteRolePolicy ListRolePolicies ListAttachedRolePolicies TagRole UntagRole`,
  },
  'AWS::Lambda::Alias': {
    own: '*Alias GetProvisionedConcurrencyConfig',
  },
  'AWS::Lambda::EventInvokeConfig': { own: '*FunctionEventInvokeConfig' },
  'AWS::Lambda::EventSourceMapping': { any: '*EventSourceMapping' },
  'AWS::Lambda::Function': {
    own: `CreateFunction GetFunction UpdateFunctionCode UpdateFunctionConfiguration DeleteFunction PutFunctionConcurrency
      DeleteFunctionConcurrency PutFunctionRecursionConfig GetFunctionRecursionConfig GetFunctionCodeSigningConfig
      GetFunctionScalingConfig GetRuntimeManagementConfig *TagResource ListTags`,
  },
  'AWS::Lambda::Permission': { own: 'AddPermission GetPolicy RemovePermission' },
  'AWS::Lambda::Version': {
    own: 'PublishVersion GetFunctionConfiguration ListVersionsByFunction DeleteFunction',
  },
  'AWS::Logs::LogGroup': {
    own: `CreateLogGroup PutRetentionPolicy DeleteRetentionPolicy DeleteLogGroup GetDataProtectionPolicy *TagResource ListTagsForResource`,
    any: 'DescribeLogGroups DescribeIndexPolicies',
  },
  'AWS::Logs::MetricFilter': { own: 'PutMetricFilter DescribeMetricFilters DeleteMetricFilter' },
  'AWS::S3::Bucket': {
    own: `CreateBucket DeleteBucket ListBucket GetBucket* Get*Configuration PutBucketTagging PutEncryptionConfiguration
      PutLifecycleConfiguration PutBucketVersioning PutBucketPublicAccessBlock PutBucketOwnershipControls
      PutBucketNotification *TagResource ListTagsForResource`,
  },
  'AWS::S3::BucketPolicy': { own: 'PutBucketPolicy DeleteBucketPolicy' },
  'AWS::SES::ConfigurationSet': {
    any: `CreateConfigurationSet DescribeConfigurationSet GetConfigurationSet PutConfigurationSetDeliveryOptions
      DeleteConfigurationSet *TagResource ListTagsForResource`,
  },
  'AWS::SES::ConfigurationSetEventDestination': {
    any: `CreateConfigurationSetEventDestination GetConfigurationSetEventDestinations
      UpdateConfigurationSetEventDestination DeleteConfigurationSetEventDestination`,
  },
  'AWS::SNS::Subscription': {
    own: 'Subscribe',
    any: 'GetSubscriptionAttributes SetSubscriptionAttributes Unsubscribe',
  },
  'AWS::SNS::Topic': {
    own: `CreateTopic GetTopicAttributes SetTopicAttributes DeleteTopic ListSubscriptionsByTopic GetDataProtectionPolicy
      *TagResource ListTagsForResource`,
  },
  'AWS::SNS::TopicPolicy': { own: 'SetTopicAttributes' },
  'AWS::SQS::Queue': {
    own: `CreateQueue GetQueueUrl GetQueueAttributes SetQueueAttributes DeleteQueue ListQueueTags TagQueue UntagQueue`,
  },
  'AWS::SQS::QueuePolicy': { own: 'SetQueueAttributes' },
  'AWS::Scheduler::Schedule': { own: '*Schedule' },
  'AWS::SecretsManager::Secret': {
    own: 'CreateSecret DescribeSecret GetSecretValue UpdateSecret DeleteSecret *TagResource',
    any: 'GetRandomPassword',
  },
};

/** What a name of the stack looks like in an ARN, by service. CloudFormation begins each with the stack's name, but those of secrets. */
const own: Readonly<Record<string, readonly string[]>> = {
  cloudwatch: ['*:*:alarm:lfs-quota-*'],
  codedeploy: ['*:*:*:lfs-quota-*'],
  dynamodb: ['*:*:table/lfs-quota-*'],
  events: ['*:*:rule/lfs-quota-*'],
  iam: [':*:role/lfs-quota-*'],
  lambda: ['*:*:function:lfs-quota-*', '*:*:event-source-mapping:*'],
  logs: ['*:*:log-group:lfs-quota-*', '*:*:log-group:/aws/vendedlogs/lfs-quota-*'],
  s3: ['::lfs-quota-*'],
  scheduler: ['*:*:schedule/default/lfs-quota-*'],
  secretsmanager: ['*:*:secret:AdminToken*'],
  sns: ['*:*:lfs-quota-*'],
  sqs: ['*:*:lfs-quota-*'],
};

const place = { partition: 'aws', region: 'eu-central-1', urlSuffix: 'amazonaws.com' };
const stacks = [...fixtures.map(({ settings }) => settings), { alarms: { monthlyDollars: 1 } }].map(
  (settings) => deployed(templateOf(settings).toJSON(), 'lfs-quota-test', place),
);
const resources = stacks.flatMap((stack) => stack.resources);
const types = new Set(resources.map(({ type }) => type));

const serviceOf = (type: string) => {
  const [, service = ''] = type.toLowerCase().split('::');
  return service === 'apigatewayv2' ? 'apigateway' : service;
};

/** The actions that the types need, with their prefix. */
const actions = (kind: keyof Needs) =>
  [
    ...new Set(
      [...types].flatMap((type) =>
        (needs[type]?.[kind] ?? '')
          .split(/\s+/)
          .filter((action) => action !== '')
          .map((action) => (action.includes(':') ? action : `${serviceOf(type)}:${action}`)),
      ),
    ),
  ].sort();

/** The services that the roles of the templates trust. */
const trusted = new Set(
  resources
    .filter(({ type }) => type === 'AWS::IAM::Role')
    .flatMap(({ properties }) =>
      properties['AssumeRolePolicyDocument'].Statement.map(
        ({ Principal }: { Principal: { Service: string } }) => Principal.Service,
      ),
    ),
);

function policy(): object {
  const ownActions = actions('own');
  const services = new Set(ownActions.map((action) => action.split(':')[0] ?? ''));
  const allow = (Sid: string, Action: string | string[], Resource: string | string[], Condition?: object) => {
    return { Sid, Effect: 'Allow', Action, Resource, ...(Condition && { Condition }) };
  };
  const api = ['/apis', '/apis/*', '/domainnames', '/domainnames/*', '/tags/*'];
  const apiActions = ['DELETE', 'GET', 'PATCH', 'POST', 'PUT', '*TagResource'];
  return {
    Version: '2012-10-17',
    Statement: [
      allow(
        'Own',
        ownActions,
        [...services].flatMap((name) => (own[name] ?? []).map((rest) => `arn:*:${name}:${rest}`)),
      ),
      allow('Any', actions('any'), '*'),
      allow(
        'Api',
        apiActions.map((action) => `apigateway:${action}`),
        api.map((path) => `arn:*:apigateway:*::${path}`),
      ),
      allow('Roles', 'iam:PassRole', 'arn:*:iam::*:role/lfs-quota-*', {
        StringEquals: { 'iam:PassedToService': [...trusted].sort() },
      }),
      allow(
        'ServiceRoles',
        'iam:CreateServiceLinkedRole',
        ['ops.apigateway', 'replication.dynamodb'].map(
          (name) => `arn:*:iam::*:role/aws-service-role/${name}.amazonaws.com/*`,
        ),
      ),
      allow('Code', 's3:GetObject', 'arn:*:s3:::cdk-*-assets-*/*'),
      allow('Bootstrap', 'ssm:GetParameters', 'arn:*:ssm:*:*:parameter/cdk-bootstrap/*'),
    ],
  };
}

const file = fileURLToPath(new URL('../../packaging/deploy-policy.json', import.meta.url));

describe('packaging/deploy-policy.json', () => {
  it('has what CloudFormation needs for each type of resource, and nothing else', async () => {
    expect(Object.keys(needs).sort()).toEqual([...types].sort());
    await expect(`${JSON.stringify(policy(), undefined, 2)}\n`).toMatchFileSnapshot(file);
  });

  it('covers the ARN of each resource that it is meant for', () => {
    const arnOf = ({ type, name, id }: DeployedResource): string | undefined => {
      const kinds: Readonly<Record<string, string>> = {
        'AWS::CloudWatch::Alarm': 'cloudwatch:eu-central-1:1:alarm:',
        'AWS::CodeDeploy::Application': 'codedeploy:eu-central-1:1:application:',
        'AWS::DynamoDB::GlobalTable': 'dynamodb:eu-central-1:1:table/',
        'AWS::Events::Rule': 'events:eu-central-1:1:rule/',
        'AWS::IAM::Role': 'iam::1:role/',
        'AWS::Lambda::Function': 'lambda:eu-central-1:1:function:',
        'AWS::Logs::LogGroup': 'logs:eu-central-1:1:log-group:',
        'AWS::S3::Bucket': 's3:::',
        'AWS::SNS::Topic': 'sns:eu-central-1:1:',
        'AWS::SQS::Queue': 'sqs:eu-central-1:1:',
        'AWS::Scheduler::Schedule': 'scheduler:eu-central-1:1:schedule/default/',
        'AWS::SecretsManager::Secret': 'secretsmanager:eu-central-1:1:secret:',
      };
      return kinds[type] === undefined ? undefined : `arn:aws:${kinds[type]}${name ?? id}`;
    };
    const patterns = Object.entries(own).flatMap(([service, all]) =>
      all.map((rest) => new RegExp(`^arn:[^:]*:${service}:${rest.replaceAll('*', '.*')}$`)),
    );
    const arns = resources.flatMap((resource) => arnOf(resource) ?? []);
    expect(arns.length).toBeGreaterThan(500);
    expect(arns.filter((arn) => !patterns.some((pattern) => pattern.test(arn)))).toEqual([]);
  });

  it('fits into one managed policy: 6,144 characters without spaces', () => {
    expect(JSON.stringify(policy()).length).toBeLessThanOrEqual(6_144);
  });

  it('gives no role a managed policy, and takes none out of its boundary', () => {
    const all = [...actions('own'), ...actions('any')];
    expect(all.filter((action) => /^iam:(\*|Attach|Detach|.*PermissionsBoundary)/.test(action))).toEqual([]);
  });
});
