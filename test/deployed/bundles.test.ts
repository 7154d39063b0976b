import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { z } from 'zod';
import { functionSpecs, handlerFiles } from '../../lambda/routes.ts';
import { buildApp } from '../../lib/app.ts';
import type { TestedSubject } from '../support/subject.ts';
import * as subjects from '../support/subjects.ts';
import { invokeBundle } from './runtime-emulator.ts';
import { describeWithEmulator } from './with-emulator.ts';

const functionShape = z.object({
  Type: z.literal('AWS::Lambda::Function'),
  Metadata: z.object({ 'aws:asset:path': z.string() }),
});

/** A request without credentials, as API Gateway passes it to a function. */
const request = (method: string, path: string, pathParameters: Record<string, string> = {}) => ({
  version: '2.0',
  routeKey: `${method} ${path}`,
  rawPath: path,
  rawQueryString: '',
  headers: { 'content-type': 'application/json' },
  pathParameters,
  requestContext: {
    requestId: 'r1',
    domainName: 'lfs.example.com',
    stage: '$default',
    http: { method, path },
  },
  isBase64Encoded: false,
});

const repo = { tenant: 'acme', repo: 'game' };
/** The emulator can't tell of what comes back of e-mails: the stage sends none. */
const consumers = Object.entries(functionSpecs).filter(
  ([name, { queues = {} }]) =>
    name !== 'sendEmail' && Object.values(queues).some((uses) => uses.includes('receive')),
);
const ofSubjects = Object.values<TestedSubject>(subjects).flatMap((of) => Object.entries(of.functions ?? {}));
const cases: [string, unknown, object][] = [
  ['console', request('GET', '/'), { statusCode: 200 }],
  ['health', request('GET', '/health'), { statusCode: 200 }],
  ['signIn', request('GET', '/openapi.json'), { statusCode: 200 }],
  ['notFound', request('GET', '/nowhere'), { statusCode: 404 }],
  ['lfsBatch', request('POST', '/{tenant}/{repo}/info/lfs/objects/batch', repo), { statusCode: 401 }],
  ['lfsVerify', request('POST', '/{tenant}/{repo}/info/lfs/verify', repo), { statusCode: 401 }],
  ['getSubscription', request('GET', '/v1/tenants/{tenant}/subscription', repo), { statusCode: 401 }],
  ['management', request('GET', '/v1/tenants'), { statusCode: 401 }],
  ...ofSubjects.flatMap(([name, { answers }]): typeof cases =>
    answers ? [[name, request(answers.method, answers.path, repo), { statusCode: answers.statusCode }]] : [],
  ),
  ...consumers.map(([name]): (typeof cases)[0] => [name, { Records: [] }, { batchItemFailures: [] }]),
];

describeWithEmulator('DEPLOYED_RIE', 'the bundle of a function', (rie) => {
  const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-bundles-'));
  const bundles = new Map<string, string>();

  beforeAll(() => {
    // The stage has every function that a stage can have.
    const settings = join(folder, 'settings.json');
    const gitHosts = [{ id: 'github', kind: 'github', url: 'https://api.github.com' }];
    writeFileSync(settings, JSON.stringify({ storeEvents: true, gitHosts }));
    const context = { stage: 'dev', settings, 'aws:cdk:enable-asset-metadata': true };
    const assembly = buildApp({ outdir: folder, context }).synth();
    for (const [id, resource] of Object.entries(
      assembly.getStackByName('lfs-quota-dev').template.Resources,
    )) {
      const parsed = functionShape.safeParse(resource);
      const name = /^Functions(\w+?)Function[0-9A-F]{8}$/.exec(id)?.[1];
      if (parsed.success && name) bundles.set(name, join(folder, parsed.data.Metadata['aws:asset:path']));
    }
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it.each(cases)('starts: %s and answers under the runtime API', async (name, event, expected) => {
    const bundle = bundles.get(name) ?? '';
    const { answer, log } = await invokeBundle({
      rie,
      bundle,
      event,
      environment: {
        AWS_LAMBDA_FUNCTION_NAME: name,
        AWS_LAMBDA_FUNCTION_TIMEOUT: '25',
        AWS_REGION: 'eu-central-1',
        // Nothing listens there, so no request leaves this machine.
        AWS_ENDPOINT_URL: 'http://127.0.0.1:9',
        AWS_ACCESS_KEY_ID: 'none',
        AWS_SECRET_ACCESS_KEY: 'none',
        LFS_QUOTA_TABLE: 'none',
        LFS_QUOTA_BUCKET: 'none',
        LFS_QUOTA_S3_REGION: 'eu-central-1',
        LFS_QUOTA_QUEUE_URL: 'http://127.0.0.1:9/none',
        LFS_QUOTA_WEBHOOK_QUEUE_URL: 'http://127.0.0.1:9/none',
        LFS_QUOTA_CHUNK_QUEUE_URL: 'http://127.0.0.1:9/none',
        LFS_QUOTA_COPY_QUEUE_URL: 'http://127.0.0.1:9/none',
        LFS_QUOTA_GAUGED_QUEUES: '{}',
        LFS_QUOTA_EXPORT_QUEUE_URL: 'http://127.0.0.1:9/none',
        LFS_QUOTA_EXPORT_STORE: 's3',
        LFS_QUOTA_EXPORT_WORKERS: '8',
        LFS_QUOTA_EXPORT_PER_TENANT: '3',
        LFS_QUOTA_EXPORT_KEEP_DAYS: '7',
        LFS_QUOTA_ADMIN_SECRET_ARN: 'none',
      },
    });
    expect(answer, log).toMatchObject(expected);
    expect(log).toContain('INIT RTDONE(status: success)');
  });

  it('is at most 720 kB, and 765 kB if nobody asks it in a hurry, and at most 10 kB if it uses no service', () => {
    const names = Object.keys(handlerFiles).filter((name) => name !== 'sendEmail');
    expect([...bundles.keys()].sort()).toEqual(names.sort());
    for (const [name, bundle] of bundles) {
      const sizeBytes = statSync(join(bundle, 'index.mjs')).size;
      const isBare = name === 'health' || name === 'notFound';
      const most = name === 'management' ? 765_000 : 720_000;
      expect(sizeBytes, name).toBeLessThan(isBare ? 10_000 : most);
    }
  });
});
