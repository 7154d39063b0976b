import { existsSync } from 'node:fs';
import type { Template } from 'aws-cdk-lib/assertions';
import { beforeAll, describe, expect, it } from 'vitest';
import { type FunctionName, handlerFiles } from '../../lambda/routes.ts';
import { functionNamesOf } from '../../lib/functions/functions.ts';
import { parseDeploymentSettings } from '../../lib/settings/stages.ts';
import type { TestedFunction, TestedSubject } from '../support/subject.ts';
import * as subjects from '../support/subjects.ts';
import { backgroundFunctions, templateOf } from './stack-template.ts';
import { trusting, writing } from './trusting.ts';

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

const store = ['BUCKET', 'S3_REGION'];

/** Of those that are no subject's. What subjects add to them comes below. */
const ofFrame: Readonly<Record<string, TestedFunction>> = {
  console: { timeoutSeconds: 5, memoryMb: 256, variables: [] },
  health: { timeoutSeconds: 5, memoryMb: 128, variables: [] },
  notFound: { timeoutSeconds: 5, memoryMb: 128, variables: [] },
  lfsBatch: { timeoutSeconds: 25, memoryMb: 1_024, variables: [...store, 'QUEUE_URL', 'TABLE'] },
  lfsVerify: { timeoutSeconds: 25, memoryMb: 512, variables: [...store, 'QUEUE_URL', 'TABLE'] },
  getSubscription: {
    timeoutSeconds: 29,
    memoryMb: 1_024,
    variables: ['ADMIN_SECRET_ARN', ...store, 'QUEUE_URL', 'TABLE'],
  },
  signIn: { timeoutSeconds: 29, memoryMb: 512, variables: ['TABLE'] },
  management: {
    timeoutSeconds: 29,
    memoryMb: 512,
    variables: ['ADMIN_SECRET_ARN', ...store, 'QUEUE_URL', 'TABLE', 'GAUGED_QUEUES'],
  },
  reconcile: { timeoutSeconds: 300, memoryMb: 512, variables: [...store, 'QUEUE_URL', 'TABLE'] },
  refresh: { timeoutSeconds: 300, memoryMb: 256, variables: ['QUEUE_URL', 'TABLE'] },
  storeEvents: { timeoutSeconds: 60, memoryMb: 256, variables: ['QUEUE_URL', 'TABLE'] },
};
const bySubject = Object.values<TestedSubject>(subjects);
const expected: Readonly<Record<string, TestedFunction>> = Object.assign(
  {},
  ofFrame,
  ...bySubject.map((of) => of.functions),
);
const variablesOf = (name: string) => [
  ...(expected[name]?.variables ?? []),
  ...bySubject.flatMap((of) => of.variables?.[name] ?? []),
];

describe('the functions', () => {
  let template: Template;
  let functions: Map<string, FunctionProperties>;

  beforeAll(() => {
    template = templateOf({
      storeEvents: true,
      email: { from: 'quota@example.com' },
      ...trusting,
      ...writing,
    });
    functions = functionsOf(template);
  });

  it('are the functions of the route table', () => {
    expect([...functions.keys()].sort()).toEqual([...names].sort());
    expect(Object.keys(expected).sort()).toEqual([...names].sort());
  });

  it('include storeEvents, sendEmail and copyObject only if the stage switches them on', () => {
    expect([...functionsOf(templateOf()).keys()].sort()).toEqual([...usual].sort());
    expect(names.filter((name) => !usual.includes(name)).sort()).toEqual([
      'copyObject',
      'sendEmail',
      'storeEvents',
    ]);
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
    const built = functions.get(name);
    expect(built?.Timeout).toBe(expected[name]?.timeoutSeconds);
    expect(built?.MemorySize).toBe(expected[name]?.memoryMb);
    const own = Object.keys(built?.Environment.Variables ?? {}).filter((key) => key.startsWith('LFS_QUOTA_'));
    expect(own.sort()).toEqual(
      variablesOf(name)
        .map((variable) => `LFS_QUOTA_${variable}`)
        .sort(),
    );
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
