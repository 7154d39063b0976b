/**
 * A template as CloudFormation deploys it: every reference has a value of the greatest length that AWS makes. So what is
 * measured here is never shorter than what an account gets.
 */

/** Where a stack is deployed. */
interface Place {
  readonly partition: string;
  readonly region: string;
  readonly urlSuffix: string;
}

export interface DeployedResource {
  readonly id: string;
  readonly type: string;
  /** Its name in the account, if it has one. */
  readonly name: string | undefined;
  // biome-ignore lint/suspicious/noExplicitAny: the properties of any type of resource.
  readonly properties: Readonly<Record<string, any>>;
}

export interface DeployedStack {
  readonly place: Place;
  readonly stackName: string;
  /** The template before anything is resolved. */
  readonly template: TemplateJson;
  readonly resources: readonly DeployedResource[];
  /** Output name → its value. */
  readonly outputs: Readonly<Record<string, unknown>>;
}

export interface TemplateJson {
  readonly Description?: string;
  readonly Parameters?: Readonly<Record<string, unknown>>;
  /** Map → first key → second key → value. */
  readonly Mappings?: Readonly<Record<string, Readonly<Record<string, Readonly<Record<string, unknown>>>>>>;
  readonly Resources?: Readonly<Record<string, { readonly Type: string; readonly Properties?: object }>>;
  readonly Outputs?: Readonly<Record<string, { readonly Value: unknown; readonly Description?: string }>>;
}

const account = '111122223333';
/** What CloudFormation puts behind a name that it makes: a hyphen and up to 13 characters. */
const random = 'ABCDEFGHIJKLM';

/** Longest names by type: CloudFormation shortens those that it makes to them. */
export const nameMax: Readonly<Record<string, number>> = {
  'AWS::ApiGatewayV2::Api': 128,
  'AWS::ApiGatewayV2::Stage': 128,
  'AWS::CloudWatch::Alarm': 255,
  'AWS::CloudWatch::Dashboard': 255,
  'AWS::CodeDeploy::Application': 100,
  'AWS::CodeDeploy::DeploymentGroup': 100,
  'AWS::DynamoDB::GlobalTable': 255,
  'AWS::Events::Rule': 64,
  'AWS::IAM::Role': 64,
  'AWS::Lambda::Alias': 128,
  'AWS::Lambda::Function': 64,
  // The id of a statement in the policy of a function.
  'AWS::Lambda::Permission': 100,
  'AWS::Logs::LogGroup': 512,
  'AWS::S3::Bucket': 63,
  'AWS::Scheduler::Schedule': 64,
  'AWS::SecretsManager::Secret': 512,
  'AWS::SNS::Topic': 256,
  'AWS::SQS::Queue': 80,
};

/** Ids that AWS makes. */
const madeIds: Readonly<Record<string, string>> = {
  'AWS::ApiGatewayV2::Api': 'a1b2c3d4e5',
  'AWS::ApiGatewayV2::Integration': 'a1b2c3d4e5',
  'AWS::ApiGatewayV2::Route': 'a1b2c3d4e5',
  'AWS::CloudFront::CachePolicy': '00000000-0000-0000-0000-000000000000',
  'AWS::CloudFront::Distribution': 'E1A2B3C4D5E6F7',
  'AWS::CloudFront::KeyGroup': '00000000-0000-0000-0000-000000000000',
  'AWS::CloudFront::OriginAccessControl': 'E1A2B3C4D5E6F7',
  'AWS::CloudFront::PublicKey': 'K1A2B3C4D5E6F7',
  'AWS::Lambda::Version': '123456',
};

/**
 * @throws {Error} for a type of resource, or an intrinsic function, that this does not know. Add it then.
 */
export function deployed(template: TemplateJson, stackName: string, place: Place): DeployedStack {
  const found = Object.entries(template.Resources ?? {});
  const resolver = new Resolver(template, stackName, place);
  return {
    place,
    stackName,
    template,
    resources: found.map(([id, { Type, Properties = {} }]) => ({
      id,
      type: Type,
      name: resolver.nameOf(id),
      properties: resolver.resolve(Properties) as Record<string, unknown>,
    })),
    outputs: Object.fromEntries(
      Object.entries(template.Outputs ?? {}).map(([name, { Value }]) => [name, resolver.resolve(Value)]),
    ),
  };
}

type Resources = ReadonlyMap<string, { readonly Type: string; readonly Properties?: object }>;

class Resolver {
  readonly #resources: Resources;
  readonly #mappings: NonNullable<TemplateJson['Mappings']>;
  readonly #stackName: string;
  readonly #place: Place;

  constructor({ Resources = {}, Mappings = {} }: TemplateJson, stackName: string, place: Place) {
    this.#resources = new Map(Object.entries(Resources));
    this.#mappings = Mappings;
    this.#stackName = stackName;
    this.#place = place;
  }

  nameOf(id: string): string | undefined {
    const { Type = '' } = this.#resources.get(id) ?? {};
    return Type in nameMax || Type in madeIds ? this.#named(id).name : undefined;
  }

  resolve(value: unknown): unknown {
    if (Array.isArray(value))
      return value.map((each) => this.resolve(each)).filter((each) => each !== noValue);
    if (typeof value !== 'object' || value === null) return value;
    const [[name = '', argument] = [], ...others] = Object.entries(value);
    if (others.length === 0 && (name === 'Ref' || name.startsWith('Fn::')))
      return this.#intrinsic(name, argument);
    return Object.fromEntries(
      Object.entries(value)
        .map(([key, each]) => [key, this.resolve(each)] as const)
        .filter(([, each]) => each !== noValue),
    );
  }

  #intrinsic(name: string, argument: unknown): unknown {
    if (name === 'Ref') return this.#ref(String(argument));
    if (name === 'Fn::GetAtt' && Array.isArray(argument)) return this.#attribute(argument[0], argument[1]);
    if (name === 'Fn::Join' && Array.isArray(argument)) return this.#list(argument[1]).join(argument[0]);
    if (name === 'Fn::Select' && Array.isArray(argument)) return this.#list(argument[1])[argument[0]];
    if (name === 'Fn::Split' && Array.isArray(argument))
      return String(this.resolve(argument[1])).split(argument[0]);
    if (name === 'Fn::FindInMap' && Array.isArray(argument)) {
      const [map, first, second] = this.#list(argument).map(String);
      return this.#mappings[map ?? '']?.[first ?? '']?.[second ?? ''];
    }
    if (name === 'Fn::Sub' && typeof argument === 'string')
      return argument.replaceAll(/\$\{(.+?)\}/g, (_, id: string) => String(this.#ref(id)));
    throw new Error(`${name} ${JSON.stringify(argument)} is an intrinsic function that is not known here.`);
  }

  #list(value: unknown): unknown[] {
    const list = this.resolve(value);
    if (!Array.isArray(list)) throw new Error(`${JSON.stringify(value)} is not a list.`);
    return list;
  }

  #ref(id: string): unknown {
    const { partition, region, urlSuffix } = this.#place;
    const pseudo: Readonly<Record<string, unknown>> = {
      'AWS::AccountId': account,
      'AWS::NoValue': noValue,
      'AWS::Partition': partition,
      'AWS::Region': region,
      'AWS::StackName': this.#stackName,
      'AWS::StackId': `${this.#arn('cloudformation', `stack/${this.#stackName}`)}/${'0'.repeat(36)}`,
      'AWS::URLSuffix': urlSuffix,
    };
    if (id in pseudo) return pseudo[id];
    const { type, name } = this.#named(id);
    if (type === 'AWS::SQS::Queue') return `https://sqs.${region}.${urlSuffix}/${account}/${name}`;
    if (type === 'AWS::Lambda::Alias') return this.#arn('lambda', `function:${this.#functionOf(id)}:${name}`);
    if (type === 'AWS::SNS::Topic' || type === 'AWS::SecretsManager::Secret')
      return this.#attribute(id, 'Arn');
    return name;
  }

  #attribute(id: string, attribute: string): unknown {
    const { type, name } = this.#named(id);
    const { region, urlSuffix, partition } = this.#place;
    const attributes: Readonly<Record<string, string>> = {
      'AWS::ApiGatewayV2::Api.ApiEndpoint': `https://${name}.execute-api.${region}.${urlSuffix}`,
      'AWS::ApiGatewayV2::DomainName.RegionalDomainName': `d-${name}.execute-api.${region}.${urlSuffix}`,
      'AWS::CloudFront::Distribution.DomainName': 'd111111abcdef8.cloudfront.net',
      'AWS::CloudFront::OriginAccessControl.Id': name,
      'AWS::CloudFront::PublicKey.Id': name,
      'AWS::CloudWatch::Alarm.Arn': this.#arn('cloudwatch', `alarm:${name}`),
      'AWS::DynamoDB::GlobalTable.Arn': this.#arn('dynamodb', `table/${name}`),
      'AWS::Events::Rule.Arn': this.#arn('events', `rule/${name}`),
      'AWS::IAM::Role.Arn': `arn:${partition}:iam::${account}:role/${name}`,
      'AWS::Lambda::Function.Arn': this.#arn('lambda', `function:${name}`),
      'AWS::Lambda::Version.Version': name,
      'AWS::Logs::LogGroup.Arn': this.#arn('logs', `log-group:${name}:*`),
      'AWS::S3::Bucket.Arn': `arn:${partition}:s3:::${name}`,
      'AWS::S3::Bucket.RegionalDomainName': `${name}.s3.${region}.${urlSuffix}`,
      'AWS::SecretsManager::Secret.Arn': this.#arn('secretsmanager', `secret:${name}-ABCDEF`),
      'AWS::SecretsManager::Secret.Id': this.#arn('secretsmanager', `secret:${name}-ABCDEF`),
      'AWS::SNS::Topic.Arn': this.#arn('sns', name),
      'AWS::SNS::Topic.TopicName': name,
      'AWS::SQS::Queue.Arn': this.#arn('sqs', name),
      'AWS::SQS::Queue.QueueName': name,
    };
    const found = attributes[`${type}.${attribute}`];
    if (found === undefined) throw new Error(`The attribute ${attribute} of ${type} is not known here.`);
    return found;
  }

  /** The name of the function that an alias is of. */
  #functionOf(alias: string): unknown {
    const properties: Readonly<Record<string, unknown>> = { ...this.#resources.get(alias)?.Properties };
    return this.resolve(properties['FunctionName']);
  }

  /** The name of a resource: its own, or the one that CloudFormation makes. */
  #named(id: string): { type: string; name: string } {
    const { Type: type, Properties = {} } = this.#resources.get(id) ?? {};
    if (type === undefined) throw new Error(`There is no resource ${id}.`);
    const properties: Readonly<Record<string, unknown>> = { ...Properties };
    const kind = type.split('::').at(-1) ?? '';
    const own =
      properties['Name'] ?? properties[`${kind}Name`] ?? (kind === 'DomainName' && properties[kind]);
    const max = nameMax[type];
    if (madeIds[type] !== undefined) return { type, name: madeIds[type] };
    if (own) return { type, name: String(this.resolve(own)) };
    if (max === undefined) throw new Error(`It is not known how CloudFormation names resources of ${type}.`);
    const suffix = `-${random}${properties['FifoQueue'] ? '.fifo' : ''}`;
    // Only the names of secrets have no stack in them.
    const base = type === 'AWS::SecretsManager::Secret' ? id : `${this.#stackName}-${id}`;
    const name = `${base.slice(0, max - suffix.length)}${suffix}`;
    return { type, name: type === 'AWS::S3::Bucket' ? name.toLowerCase() : name };
  }

  #arn(service: string, rest: string): string {
    return `arn:${this.#place.partition}:${service}:${this.#place.region}:${account}:${rest}`;
  }
}

const noValue = Symbol('AWS::NoValue');
