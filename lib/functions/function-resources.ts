import type { ITableV2 } from 'aws-cdk-lib/aws-dynamodb';
import { PolicyStatement } from 'aws-cdk-lib/aws-iam';
import type { IQueue } from 'aws-cdk-lib/aws-sqs';
import type { ObjectStorage } from '../object-storage.ts';
import type { FunctionSpec, ObjectAction } from './function-specs.ts';

/** What functions are granted parts of. */
export interface FunctionResources {
  readonly table: Pick<ITableV2, 'tableArn' | 'tableName'>;
  readonly storage: ObjectStorage;
  readonly queue: IQueue;
  readonly adminSecretArn: string;
  /** Undefined where the stage takes no events of its store. */
  readonly storeEventsQueue: IQueue | undefined;
  /** Settings of the protocol that are not the defaults, as the functions read them; undefined where all are. */
  readonly protocolText: string | undefined;
}

const pollActions = ['sqs:ReceiveMessage', 'sqs:DeleteMessage', 'sqs:GetQueueAttributes'];
const takeActions = [...pollActions, 'sqs:ChangeMessageVisibility'];

const reachesStore = (needs: FunctionSpec) => needs.listBucket || needs.objects.length > 0;
const reachesTable = (needs: FunctionSpec) => needs.table.length > 0 || needs.indexes.length > 0;

/** The environment variables for what a function needs, and no others. */
export function environmentFor(needs: FunctionSpec, resources: FunctionResources): Record<string, string> {
  return {
    ...(reachesTable(needs) && { LFS_QUOTA_TABLE: resources.table.tableName }),
    // Whoever has part in the ledger keeps to the same protocol.
    ...(reachesTable(needs) && resources.protocolText && { LFS_QUOTA_SETTINGS: resources.protocolText }),
    ...(reachesStore(needs) && resources.storage.environment),
    ...(needs.sendsRecounts && { LFS_QUOTA_QUEUE_URL: resources.queue.queueUrl }),
    ...(needs.readsAdminToken && { LFS_QUOTA_ADMIN_SECRET_ARN: resources.adminSecretArn }),
  };
}

/** The statements for what a function needs: exact actions on exact resources. */
export function statementsFor(needs: FunctionSpec, resources: FunctionResources): PolicyStatement[] {
  const { table, storage, queue, adminSecretArn, storeEventsQueue } = resources;
  const secretArns = [
    ...(needs.readsAdminToken ? [adminSecretArn] : []),
    ...(reachesStore(needs) && storage.credentialsSecretArn ? [storage.credentialsSecretArn] : []),
  ];
  return [
    ...allow(
      needs.table.map((action) => `dynamodb:${action}`),
      [table.tableArn],
    ),
    ...allow(
      ['dynamodb:Query'],
      needs.indexes.map((index) => `${table.tableArn}/index/${index}`),
    ),
    ...(storage.bucket === undefined ? [] : storeStatements(needs, storage.bucket.bucketArn)),
    ...allow(needs.sendsRecounts ? ['sqs:SendMessage'] : [], [queue.queueArn]),
    ...allow(needs.takesRecounts ? takeActions : [], [queue.queueArn]),
    ...allow(needs.takesStoreEvents ? pollActions : [], storeEventsQueue ? [storeEventsQueue.queueArn] : []),
    ...allow(['secretsmanager:GetSecretValue'], secretArns),
  ];
}

/**
 * Which keys an action reaches: they are {tenant}/{repo}/{oid}, so nothing at the bucket's root can be reached,
 * nor signed. What was imported directly below a tenant is deleted with the tenant.
 */
export function objectsBelow(action: ObjectAction): string {
  return action === 'DeleteObject' ? '/*/*' : '/*/*/*';
}

function storeStatements(needs: FunctionSpec, bucketArn: string): PolicyStatement[] {
  const scopes = [...new Set(needs.objects.map(objectsBelow))];
  return [
    ...scopes.flatMap((below) =>
      allow(
        needs.objects.filter((action) => objectsBelow(action) === below).map((action) => `s3:${action}`),
        [`${bucketArn}${below}`],
      ),
    ),
    ...allow(needs.listBucket ? ['s3:ListBucket'] : [], [bucketArn]),
  ];
}

/** One statement, or none where there is nothing to allow. */
function allow(actions: readonly string[], resources: readonly string[]): PolicyStatement[] {
  if (actions.length === 0 || resources.length === 0) return [];
  return [new PolicyStatement({ actions: [...actions], resources: [...resources] })];
}
