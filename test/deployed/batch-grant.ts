import { awsCall } from './aws-call.ts';
import type { Emulator } from './emulator.ts';

/**
 * Lets refresh send ten messages in one request. On AWS `sqs:SendMessage` grants that too, and no other action exists
 * (https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/API_AddPermission.html). The emulator requires
 * `sqs:SendMessageBatch`.
 */
export async function allowBatches(emulator: Emulator): Promise<void> {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' };
  const iam = (parameters: Record<string, string>) => {
    const body = new URLSearchParams({ ...parameters, Version: '2010-05-08' }).toString();
    return awsCall(emulator, { service: 'iam', headers, body });
  };
  const roles = await iam({ Action: 'ListRoles', MaxItems: '1000' });
  const RoleName = /<RoleName>([^<]*FunctionsrefreshRole[^<]*)</.exec(roles)?.[1];
  if (RoleName === undefined) throw new Error(`The role of refresh is not among these: ${roles}`);
  const statement = { Effect: 'Allow', Action: 'sqs:SendMessageBatch', Resource: '*' };
  const PolicyDocument = JSON.stringify({ Version: '2012-10-17', Statement: [statement] });
  await iam({ Action: 'PutRolePolicy', RoleName, PolicyName: 'batches', PolicyDocument });
}
