import type { FunctionName } from '../../lambda/routes.ts';
import { awsCall } from './aws-call.ts';
import type { Emulator } from './emulator.ts';

const senders: readonly FunctionName[] = ['refresh', 'management', 'exportArchive'];

/**
 * Lets functions send ten messages in one request. On AWS `sqs:SendMessage` grants that too, and no other action exists
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
  const statement = { Effect: 'Allow', Action: 'sqs:SendMessageBatch', Resource: '*' };
  const PolicyDocument = JSON.stringify({ Version: '2012-10-17', Statement: [statement] });
  for (const sender of senders) {
    const RoleName = new RegExp(`<RoleName>([^<]*Functions${sender}Role[^<]*)<`).exec(roles)?.[1];
    if (RoleName === undefined) throw new Error(`The role of ${sender} is not among these: ${roles}`);
    await iam({ Action: 'PutRolePolicy', RoleName, PolicyName: 'batches', PolicyDocument });
  }
}
