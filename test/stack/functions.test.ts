import { existsSync } from 'node:fs';
import type { Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { type FunctionName, handlerFiles } from '../../lambda/routes.ts';
import { functionNamesOf } from '../../lib/functions/functions.ts';
import { parseDeploymentSettings } from '../../lib/settings/stages.ts';
import { backgroundFunctions, templateOf } from './stack-template.ts';

interface FunctionProperties {
  readonly Timeout: number;
  readonly MemorySize: number;
  readonly RecursiveLoop?: string;
  readonly ReservedConcurrentExecutions?: number;
  readonly Environment: { readonly Variables: Readonly<Record<string, unknown>> };
}

const names = Object.keys(handlerFiles) as FunctionName[];
const usual = functionNamesOf(parseDeploymentSettings('dev', {}));

function functionsOf(template: Template): Map<string, FunctionProperties> {
  const found = Object.entries(template.findResources('AWS::Lambda::Function'));
  return new Map(
    found.map(([id, resource]) => [
      /^Functions(\w+?)Function[0-9A-F]{8}$/.exec(id)?.[1] ?? id,
      resource['Properties'],
    ]),
  );
}

const store = ['LFS_QUOTA_BUCKET', 'LFS_QUOTA_S3_REGION'];
const table = 'LFS_QUOTA_TABLE';
const queue = 'LFS_QUOTA_QUEUE_URL';
const exports = ['KEEP_DAYS', 'PER_TENANT', 'QUEUE_URL', 'STORE', 'WORKERS'].map(
  (name) => `LFS_QUOTA_EXPORT_${name}`,
);
const webhooks = 'LFS_QUOTA_WEBHOOK_QUEUE_URL';
const chunks = 'LFS_QUOTA_CHUNK_QUEUE_URL';
const emails = ['CONFIGURATION_SET', 'FROM', 'QUEUE_URL'].map((name) => `LFS_QUOTA_EMAIL_${name}`);
const emailQueue = 'LFS_QUOTA_EMAIL_QUEUE_URL';
const copies = 'LFS_QUOTA_COPY_QUEUE_URL';
const gitHosts = [{ id: 'github', kind: 'github' as const, url: 'https://api.github.com' }];
const admin = 'LFS_QUOTA_ADMIN_SECRET_ARN';

/** Timeout in seconds, memory in MB and LFS_QUOTA_ variables, by function. */
const expected: Record<FunctionName, [number, number, string[]]> = {
  console: [5, 256, []],
  health: [5, 128, []],
  notFound: [5, 128, []],
  lfsBatch: [25, 1_024, [...store, queue, table, copies]],
  lfsVerify: [25, 512, [...store, queue, table]],
  lfsChunks: [25, 512, [...store, table, chunks]],
  lfsLocks: [25, 512, [table]],
  getSubscription: [29, 1_024, [admin, ...store, queue, table]],
  exchangeToken: [15, 512, [table]],
  signIn: [29, 512, [table]],
  management: [
    29,
    512,
    [admin, ...store, queue, table, ...exports, webhooks, emailQueue, 'LFS_QUOTA_GAUGED_QUEUES'],
  ],
  reconcile: [300, 512, [...store, queue, table]],
  refresh: [300, 256, [queue, table, ...exports, chunks, 'LFS_QUOTA_EVENT_BUS', webhooks, emailQueue]],
  sendWebhook: [30, 256, [table, webhooks]],
  sendEmail: [60, 256, [table, ...emails, 'LFS_QUOTA_PUBLIC_URL']],
  exportArchive: [300, 2_048, [...store, table, ...exports]],
  assembleUpload: [900, 1_024, [...store, queue, table, chunks]],
  storeEvents: [60, 256, [queue, table]],
  copyObject: [900, 512, [table, copies]],
};

describe('the functions', () => {
  let template: Template;
  let functions: Map<string, FunctionProperties>;

  beforeAll(() => {
    template = templateOf({ storeEvents: true, email: { from: 'quota@example.com' }, gitHosts });
    functions = functionsOf(template);
  });

  it('are the functions of the route table', () => {
    expect([...functions.keys()].sort()).toEqual([...names].sort());
  });

  it('include storeEvents, sendEmail and copyObject only if the stage switches them on', () => {
    expect([...functionsOf(templateOf()).keys()].sort()).toEqual([...usual].sort());
    expect(names.filter((name) => !usual.includes(name)).sort()).toEqual([
      'copyObject',
      'sendEmail',
      'storeEvents',
    ]);
  });

  it('include exportArchive unless the stage makes no exports', () => {
    const without = functionsOf(templateOf({ exports: { workers: 0 } }));
    expect([...without.keys()].sort()).toEqual(usual.filter((name) => name !== 'exportArchive').sort());
    const variables = [...without.values()].flatMap((built) => Object.keys(built.Environment.Variables));
    expect(variables.filter((name) => exports.includes(name))).toEqual([]);
  });

  it('make exports as the stage says', () => {
    const built = functionsOf(templateOf({ exports: { workers: 20, perTenant: 9, keepDays: 2 } }));
    for (const name of ['management', 'refresh', 'exportArchive'])
      expect(built.get(name)?.Environment.Variables).toMatchObject({
        LFS_QUOTA_EXPORT_QUEUE_URL: { Ref: expect.stringMatching(/^ExportWorkQueue/) },
        LFS_QUOTA_EXPORT_STORE: 's3',
        LFS_QUOTA_EXPORT_WORKERS: '20',
        LFS_QUOTA_EXPORT_PER_TENANT: '9',
        LFS_QUOTA_EXPORT_KEEP_DAYS: '2',
      });
  });

  it.each(names)('%s has a handler file', (name) => {
    expect(existsSync(new URL(`../../lambda/functions/${handlerFiles[name]}`, import.meta.url))).toBe(true);
  });

  it('run on arm64 and Node 24', () => {
    template.allResourcesProperties('AWS::Lambda::Function', {
      Runtime: 'nodejs24.x',
      Architectures: ['arm64'],
      Handler: 'index.handler',
    });
  });

  it.each(names)('%s has its timeout, its memory and only the variables that it needs', (name) => {
    const [timeoutSeconds, memoryMb, variables] = expected[name];
    const built = functions.get(name);
    expect(built?.Timeout).toBe(timeoutSeconds);
    expect(built?.MemorySize).toBe(memoryMb);
    const own = Object.keys(built?.Environment.Variables ?? {}).filter((key) => key.startsWith('LFS_QUOTA_'));
    expect(own.sort()).toEqual([...variables].sort());
  });

  it('behind the API time out before API Gateway does', () => {
    for (const [name, built] of functions)
      if (!backgroundFunctions.some((each) => each === name)) expect(built.Timeout).toBeLessThan(30);
  });

  it('may send to their own queue only if they continue their own work', () => {
    const looping = [...functions].filter(([, built]) => built.RecursiveLoop === 'Allow');
    expect(looping.map(([name]) => name)).toEqual(['reconcile', 'assembleUpload', 'exportArchive']);
  });

  it('have the memory, timeout and log level that the stage sets', () => {
    const changed = functionsOf(
      templateOf({ memoryMb: { lfsBatch: 1024 }, reconcile: { timeoutMinutes: 15 }, logLevel: 'DEBUG' }),
    );
    expect(changed.get('lfsBatch')?.MemorySize).toBe(1024);
    expect(changed.get('reconcile')?.Timeout).toBe(900);
    expect(changed.get('health')?.Environment.Variables['POWERTOOLS_LOG_LEVEL']).toBe('DEBUG');
  });

  it('share the concurrency of the account, unless the stage sets some aside for batches', () => {
    const reserved = (settings: Parameters<typeof templateOf>[0]) =>
      [...functionsOf(templateOf(settings))].flatMap(([name, { ReservedConcurrentExecutions: runs }]) =>
        runs === undefined ? [] : [[name, runs]],
      );
    expect(reserved({})).toEqual([]);
    expect(reserved({ reservedConcurrency: { lfsBatch: 50 } })).toEqual([['lfsBatch', 50]]);
  });

  it('keep their logs as long as the stage says', () => {
    template.allResourcesProperties('AWS::Logs::LogGroup', { RetentionInDays: 30 });
    template.resourceCountIs('AWS::Logs::LogGroup', names.length + 1);
  });
});
