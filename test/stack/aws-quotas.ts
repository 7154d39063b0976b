import type { DeployedResource, DeployedStack, TemplateJson } from './deployed-stack.ts';

/** A limit of AWS that a template can meet. */
export interface Quota {
  readonly name: string;
  readonly limit: number;
  /** The limit is the least that AWS accepts, not the most. */
  readonly isLeast?: true;
  /** What of a stack is under the limit: where it is, and how much it is. */
  readonly measure: (stack: DeployedStack) => Iterable<readonly [where: string, amount: number]>;
  /** A template of which one measured amount grows by 1 with each 1 of this. */
  readonly sample: (amount: number) => TemplateJson;
}

/** What of a stack is over the limit. */
export function overLimit({ limit, isLeast, measure }: Quota, stack: DeployedStack): string[] {
  return [...measure(stack)].flatMap(([where, amount]) =>
    (isLeast ? amount < limit : amount > limit) ? [`${where}: ${amount}`] : [],
  );
}

const bytes = (value: unknown) =>
  Buffer.byteLength(typeof value === 'string' ? value : JSON.stringify(value));

/** A statement as Lambda stores it: one for each permission, each with the id that CloudFormation makes. */
function statementOf({ name, properties }: DeployedResource) {
  const { FunctionName, Principal, Action, SourceArn } = properties;
  return {
    Sid: name,
    Effect: 'Allow',
    Principal: { Service: Principal },
    Action,
    Resource: FunctionName,
    ...(SourceArn && { Condition: { ArnLike: { 'AWS:SourceArn': SourceArn } } }),
  };
}

/** A template with these resources. */
const withResources = (
  resources: Readonly<Record<string, { Type: string; Properties: object }>>,
): TemplateJson => ({
  Resources: resources,
});

export const quotas: readonly Quota[] = [
  {
    // https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html. It can't be raised.
    name: 'bytes of a function’s resource policy',
    limit: 20_480,
    *measure(stack) {
      const permissions = stack.resources.filter(({ type }) => type === 'AWS::Lambda::Permission');
      for (const name of new Set(permissions.map(({ properties }) => String(properties['FunctionName'])))) {
        const ofFunction = permissions.filter(({ properties }) => properties['FunctionName'] === name);
        const Statement = ofFunction.map(statementOf);
        yield [name, bytes({ Version: '2012-10-17', Id: 'default', Statement })];
      }
    },
    sample: (amount) =>
      withResources(
        Object.fromEntries(
          ['One', 'Two'].map((id) => [
            id,
            {
              Type: 'AWS::Lambda::Permission',
              Properties: {
                FunctionName: 'f',
                Action: id === 'One' ? 'a'.repeat(amount) : 'a',
                Principal: 'p',
              },
            },
          ]),
        ),
      ),
  },
];
