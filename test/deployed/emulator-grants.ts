import { type FunctionName, functionSpecs } from '../../lambda/routes.ts';
import { functionNamesOf } from '../../lib/functions/functions.ts';
import { parseDeploymentSettings } from '../../lib/settings/stages.ts';
import { awsCall } from './aws-call.ts';
import type { Emulator } from './emulator.ts';

/** Functions that any stage has which makes exports. */
const everywhere = functionNamesOf(parseDeploymentSettings('lane', {}));

/** Grants that the emulator needs beyond those of AWS: which functions, and which actions. */
const grants: readonly {
  readonly functions: readonly FunctionName[];
  readonly actions: readonly string[];
}[] = [
  /**
   * Sends ten messages in one request. On AWS `sqs:SendMessage` grants that too, and no other action exists
   * (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_AddPermission.html).
   */
  {
    functions: (Object.keys(functionSpecs) as FunctionName[]).filter((name) => {
      const { reconciles: _, ...queues } = functionSpecs[name].queues ?? {};
      return Object.values(queues).some((uses) => uses.includes('send'));
    }),
    actions: ['sqs:SendMessageBatch'],
  },
  /**
   * Items of some partitions only. The emulator puts no `dynamodb:LeadingKeys` into a request, and the grants require
   * it: `test/stack/grants.test.ts` has them.
   */
  {
    functions: (Object.keys(functionSpecs) as FunctionName[]).filter((name) => functionSpecs[name].items),
    actions: ['GetItem', 'PutItem', 'UpdateItem', 'DeleteItem', 'Query'].map(
      (action) => `dynamodb:${action}`,
    ),
  },
];

/**
 * Lets functions do in the emulator what their grants let them do on AWS.
 *
 * @param options.isOlder a release may lack some of them.
 */
export async function allowAsOnAws(emulator: Emulator, { isOlder }: { isOlder: boolean }): Promise<void> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const iam = (parameters: Record<string, string>) => {
    const body = new URLSearchParams({ ...parameters, Version: '2010-05-08' }).toString();
    return awsCall(emulator, { service: 'iam', headers, body });
  };
  const roles = await iam({ Action: 'ListRoles', MaxItems: '1000' });
  for (const { functions, actions } of grants) {
    const statement = { Effect: 'Allow', Action: actions, Resource: '*' };
    const PolicyDocument = JSON.stringify({ Version: '2012-10-17', Statement: [statement] });
    for (const name of functions) {
      const RoleName = new RegExp(`<RoleName>([^<]*Functions${name}Role[^<]*)<`).exec(roles)?.[1];
      if (RoleName === undefined && (isOlder || !everywhere.includes(name))) continue;
      if (RoleName === undefined) throw new Error(`The role of ${name} is not among these: ${roles}`);
      // A function can need several, and one with the same name would replace the other.
      const PolicyName = `as-on-aws-${String(actions[0]).replace(/:.*/, '')}`;
      await iam({ Action: 'PutRolePolicy', RoleName, PolicyName, PolicyDocument });
    }
  }
}
