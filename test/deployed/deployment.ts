import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type AttributeValue,
  DynamoDBClient,
  GetItemCommand,
  UpdateItemCommand,
} from '@aws-sdk/client-dynamodb';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import {
  CreateSecretCommand,
  GetSecretValueCommand,
  SecretsManagerClient,
} from '@aws-sdk/client-secrets-manager';
import { z } from 'zod';
import { byDueIndex, tenantKey } from '../../lambda/core/table/table.ts';
import type { DeploymentSettingsInput } from '../../lib/settings/deployment-settings.ts';
import { run } from '../support/process.ts';
import { awsCall } from './aws-call.ts';
import { CloudWatchLogs } from './cloudwatch-logs.ts';
import type { Emulator } from './emulator.ts';
import { allowAsOnAws } from './emulator-grants.ts';

const projectRoot = join(import.meta.dirname, '..', '..');
const cdkTimeoutMs = 15 * 60_000;
const stackName = 'lfs-quota-lane';

const outputsShape = z.object({
  [stackName]: z.object({
    ApiUrl: z.string(),
    TableName: z.string(),
    BucketName: z.string(),
    QueueUrl: z.string(),
    DlqUrl: z.string(),
    AdminSecretArn: z.string(),
  }),
});

const functionsShape = z.object({ Functions: z.array(z.object({ FunctionName: z.string() })) });
const aliasShape = z.object({ FunctionVersion: z.string() });

export type Outputs = z.output<typeof outputsShape>[typeof stackName];

/** The emulator knows no alarm on an expression, and has no CodeDeploy. */
const leftOut = { monitoring: 'basic', canary: false } satisfies DeploymentSettingsInput;

/** A version from before them has no setting to leave them out. */
async function leftOutOf(checkout: string): Promise<DeploymentSettingsInput> {
  const file = join(checkout, 'lib', 'settings', 'deployment-settings.ts');
  const source = await readFile(file, 'utf8').catch(() => '');
  return Object.fromEntries(Object.entries(leftOut).filter(([name]) => source.includes(`\n  ${name}: `)));
}

const aliasPath = '/aliases/live';

/** The stack as `cdk deploy` creates it, on an emulated AWS. */
export class Deployment {
  readonly emulator: Emulator;
  readonly s3: S3Client;
  readonly logs: CloudWatchLogs;
  readonly #dynamoDb: DynamoDBClient;
  readonly #secrets: SecretsManagerClient;

  constructor(emulator: Emulator) {
    this.emulator = emulator;
    const { endpoint, region, credentials } = emulator;
    const ca = readFileSync(emulator.certificateFile);
    const requestHandler = { httpsAgent: { ca } };
    const config = { endpoint, region, credentials, requestHandler };
    this.s3 = new S3Client({ ...config, forcePathStyle: true });
    this.#dynamoDb = new DynamoDBClient(config);
    this.logs = new CloudWatchLogs(emulator);
    this.#secrets = new SecretsManagerClient(config);
  }

  async bootstrap(): Promise<void> {
    await this.#cdk(['bootstrap', 'aws://000000000000/us-east-1']);
  }

  /**
   * Deploys with these settings. @returns the stack's outputs, and what the CDK printed.
   *
   * @param options.checkout the folder of another version; default: this one.
   * @param options.parameter `NAME=VALUE` of the template; default: as before.
   */
  async deploy(
    settings: DeploymentSettingsInput,
    { checkout = projectRoot, parameter }: { checkout?: string; parameter?: string } = {},
  ): Promise<{ outputs: Outputs; printed: string }> {
    const settingsFile = join(this.emulator.folder, 'settings.json');
    const outputsFile = join(this.emulator.folder, 'outputs.json');
    await writeFile(settingsFile, JSON.stringify({ ...(await leftOutOf(checkout)), ...settings }));
    const printed = await this.#cdk(
      [
        'deploy',
        ...['-c', 'stage=lane', '-c', `settings=${settingsFile}`],
        ...['--require-approval', 'never', '--outputs-file', outputsFile],
        ...(parameter === undefined ? [] : ['--parameters', parameter]),
      ],
      checkout,
    );
    await allowAsOnAws(this.emulator, { isOlder: checkout !== projectRoot });
    const { [stackName]: outputs } = outputsShape.parse(JSON.parse(await readFile(outputsFile, 'utf8')));
    return { outputs, printed };
  }

  /** Removes the stack as the runbook does it, with the settings of the last deployment. What it keeps stays. */
  async destroy(): Promise<void> {
    const headers = { 'content-type': 'application/x-www-form-urlencoded' };
    const unprotect = {
      Action: 'UpdateTerminationProtection',
      EnableTerminationProtection: 'false',
      StackName: stackName,
      Version: '2010-05-15',
    };
    const body = new URLSearchParams(unprotect).toString();
    await awsCall(this.emulator, { service: 'cloudformation', headers, body });
    const settingsFile = join(this.emulator.folder, 'settings.json');
    await this.#cdk(['destroy', '--force', '-c', 'stage=lane', '-c', `settings=${settingsFile}`]);
  }

  async adminToken(outputs: Outputs): Promise<string> {
    const secret = await this.#secrets.send(new GetSecretValueCommand({ SecretId: outputs.AdminSecretArn }));
    return secret.SecretString ?? '';
  }

  /** Makes the tenant's count due, as if a day had passed. Not long ago: the schedule hands on what becomes due. */
  async makeScanDue(outputs: Outputs, tenant: string): Promise<void> {
    const { pk, sk } = tenantKey(tenant);
    await this.#dynamoDb.send(
      new UpdateItemCommand({
        TableName: outputs.TableName,
        Key: { pk: { S: pk }, sk: { S: sk } },
        UpdateExpression: 'SET #due = :now, fullDueAtMs = :now',
        ExpressionAttributeNames: { '#due': byDueIndex.sk },
        ExpressionAttributeValues: { ':now': { N: String(Date.now()) } },
      }),
    );
  }

  /** The tenant's item as the table has it. */
  async tenantItem(outputs: Outputs, tenant: string): Promise<Record<string, AttributeValue>> {
    const { pk, sk } = tenantKey(tenant);
    const Key = { pk: { S: pk }, sk: { S: sk } };
    const { Item } = await this.#dynamoDb.send(
      new GetItemCommand({ TableName: outputs.TableName, Key, ConsistentRead: true }),
    );
    return Item ?? {};
  }

  /** Of each function, the version that its alias is of: as the runbook notes it before an upgrade. */
  async liveVersions(): Promise<ReadonlyMap<string, string>> {
    const { Functions } = functionsShape.parse(await this.#lambda('GET'));
    const live = Functions.map(async ({ FunctionName }) => {
      const { FunctionVersion } = aliasShape.parse(await this.#lambda('GET', FunctionName, aliasPath));
      return [FunctionName, FunctionVersion] as const;
    });
    return new Map(await Promise.all(live));
  }

  /** Moves all aliases back, as the runbook does it. */
  async goBackTo(versions: ReadonlyMap<string, string>): Promise<void> {
    for (const [name, FunctionVersion] of versions)
      await this.#lambda('PUT', name, aliasPath, { FunctionVersion });
  }

  async #lambda(method: 'GET' | 'PUT', name = '', rest = '', body?: object): Promise<unknown> {
    const path = `/2015-03-31/functions/${name}${rest}`;
    const headers = { 'content-type': 'application/json' };
    const call = { service: 'lambda', method, path, headers, body: body ? JSON.stringify(body) : '' };
    return JSON.parse(await awsCall(this.emulator, call));
  }

  /** Creates a bucket and credentials outside the stack. @returns them as the settings of an external store. */
  async externalStore(bucket: string): Promise<NonNullable<DeploymentSettingsInput['objectStore']>> {
    const { endpoint, region, credentials } = this.emulator;
    await this.s3.send(new CreateBucketCommand({ Bucket: bucket }));
    const secret = await this.#secrets.send(
      new CreateSecretCommand({ Name: 'store-credentials', SecretString: JSON.stringify(credentials) }),
    );
    return { kind: 'external', endpoint, region, bucket, credentialsSecretArn: secret.ARN ?? '' };
  }

  async close(): Promise<void> {
    for (const client of [this.s3, this.#dynamoDb, this.#secrets]) client.destroy();
    await this.emulator.close();
  }

  async #cdk(args: readonly string[], cwd = projectRoot): Promise<string> {
    const env = this.emulator.environment();
    const bin = join(projectRoot, 'node_modules', '.bin');
    const ended = await run(join(bin, 'cdk'), [...args, '--no-notices', '--output', this.#assembly()], {
      cwd,
      env: {
        ...env,
        PATH: `${bin}:${env['PATH']}`,
        CI: '1',
        CDK_DISABLE_CLI_TELEMETRY: 'true',
        // `npm run synth` validates the templates, so there is no need to do it three more times here.
        CDK_VALIDATION: 'false',
      },
      timeoutMs: cdkTimeoutMs,
    });
    const printed = `${ended.out}\n${ended.err}`;
    if (ended.code !== 0) throw new Error(`cdk ${args.join(' ')} exited ${ended.code}:\n${printed}`);
    return printed;
  }

  #assembly(): string {
    return join(this.emulator.folder, 'cdk.out');
  }
}
