import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { buildApp } from '../../lib/app.ts';
import { newCdnKey } from '../../test/support/cdn.ts';
import { httpEvent } from '../../test/support/http-event.ts';
import { KeySet, nameOf } from '../list-server/server.ts';
import { bundle, inFolder, makeCertificate, startChild } from '../processes.ts';
import { type Column, optionsOf, tableOf } from '../statistics.ts';
import type { BackendApi } from './backend.ts';
import type { FunctionApi, Invoked, Start } from './run-function.ts';
import { repo, tenant, token } from './seed.ts';

/** What a function is asked. */
interface Case {
  readonly name: string;
  readonly function: 'lfsBatch' | 'getSubscription';
  /** Since the count. */
  readonly ageMs: number;
  /** The first ones still compile. */
  readonly calls: number;
  /** Objects that the last count found in the repo. */
  readonly repoObjects: number;
  /** Environment variables, besides those of every function. */
  readonly variables?: Readonly<Record<string, string>>;
  /** @param call its number, so that no two calls have the same new objects. */
  readonly event: (call: number) => unknown;
  /** @throws {Error} when the work was not done: a fast wrong answer does not count. */
  readonly check: (answer: { statusCode: number; body: string }) => void;
}

const mediaType = 'application/vnd.git-lfs+json';

/** Of new objects, or of those that the repo has. */
function batch(operation: 'upload' | 'download', count: number, repoObjects: number): Case {
  const stored = new KeySet(repoObjects).page({ after: '', keysMax: count }).objects;
  const newOid = (call: number, index: number) =>
    createHash('sha256').update(`${call}/${index}`).digest('hex');
  return {
    name: `${operation} of ${count}, repo of ${repoObjects.toLocaleString('en')}`,
    function: 'lfsBatch',
    ageMs: 0,
    calls: 5,
    repoObjects,
    event: (call) => {
      const objects = stored.map(({ position, sizeBytes: size }, index) => ({
        oid: operation === 'upload' ? newOid(call, index) : nameOf(position),
        size,
      }));
      const body = { operation, transfers: ['basic'], objects, hash_algo: 'sha256' };
      return httpEvent({
        routeKey: 'POST /{tenant}/{repo}/info/lfs/objects/batch',
        path: `/${tenant}/${repo}.git/info/lfs/objects/batch`,
        pathParameters: { tenant, repo: `${repo}.git` },
        headers: {
          authorization: `Basic ${Buffer.from(`git:${token}`).toString('base64')}`,
          accept: mediaType,
          'content-type': `${mediaType}; charset=utf-8`,
          host: 'lfs.example.com',
        },
        // API Gateway treats the media type of Git LFS as binary.
        body: Buffer.from(JSON.stringify(body)).toString('base64'),
        isBase64Encoded: true,
      });
    },
    check: ({ statusCode, body }) => {
      const done = body.split(`"actions":{"${operation}":`).length - 1;
      if (statusCode !== 200 || done !== count)
        throw new Error(`Answered ${statusCode}, with an action for ${done} of ${count} objects: ${body}`);
    },
  };
}

/** Of CloudFront. The bucket's signer has its key from the role. */
const cdnKey = newCdnKey();
const withCdn = (work: Case): Case => ({
  ...work,
  name: `${work.name}, CloudFront`,
  variables: {
    LFS_QUOTA_CDN_URL: 'https://d111111abcdef8.cloudfront.net',
    LFS_QUOTA_CDN_KEY_ID: 'K2JCJMDEHXQW5F',
    LFS_QUOTA_CDN_PUBLIC_KEY: cdnKey.publicKey,
    LFS_QUOTA_CDN_SECRET_ARN: 'cdn',
  },
});

/** What the console asks for. If the count is old, the function counts first. */
function subscription(source: 'cache' | 'scan', repoObjects: number): Case {
  const objectCount = source === 'cache' ? repoObjects : new KeySet(repoObjects).objectCount;
  return {
    name: `subscription by ${source}, repo of ${repoObjects.toLocaleString('en')}`,
    function: 'getSubscription',
    ageMs: source === 'cache' ? 0 : 7 * 24 * 60 * 60_000,
    calls: 40,
    repoObjects,
    event: () =>
      httpEvent({
        routeKey: 'GET /v1/tenants/{tenant}/subscription',
        path: `/v1/tenants/${tenant}/subscription`,
        pathParameters: { tenant },
        headers: { authorization: `Bearer ${token}`, host: 'lfs.example.com' },
      }),
    check: ({ statusCode, body }) => {
      const { usage } = JSON.parse(body) as { usage?: { source: string; objectCount: number } };
      if (statusCode !== 200 || usage?.source !== source || usage.objectCount !== objectCount)
        throw new Error(`Answered ${statusCode}, instead of ${objectCount} objects by ${source}: ${body}`);
    },
  };
}

const cases: readonly Case[] = [
  subscription('cache', 0),
  subscription('scan', 0),
  subscription('scan', 17_000),
  batch('upload', 1, 100),
  batch('upload', 100, 1000),
  batch('upload', 100, 4000),
  batch('upload', 100, 20_000),
  batch('download', 100, 1000),
  withCdn(batch('download', 100, 1000)),
];

/** A function as it is deployed, and what it did. */
interface Measured {
  readonly name: string;
  /** One of each process. */
  readonly starts: Start[];
  /** The first call of each process, and the others. */
  readonly first: Invoked[];
  readonly warm: Invoked[];
}

const processes = 2;

/**
 * Size and start of each function as it is deployed, batches and subscriptions: in two processes for each kind.
 *
 * Options: `--node=PATH` (the Node that runs the functions), `--only=lfsBatch,reconcile`, `--starts=N` (9).
 */
export async function benchFunctions(
  print: (text: string) => void,
  options: readonly string[],
): Promise<void> {
  const { node, only, starts } = optionsOf(options, { node: process.execPath, only: '', starts: '9' });
  await inFolder(async (folder, cleanup) => {
    const backend = await startChild<BackendApi>(new URL('backend.ts', import.meta.url));
    cleanup.add(() => backend.end());
    const { file: certificateFile, ...tls } = makeCertificate(folder);
    const secrets = { admin: 'bench-admin-token', cdn: cdnKey.privateKey };
    const endpoint = `https://127.0.0.1:${await backend.call('listen', tls, secrets)}`;
    const program = await bundle(new URL('run-function.ts', import.meta.url));
    const deployed = deployedFunctions(folder).filter(
      ({ name }) => only === '' || only.split(',').includes(name),
    );
    print(`The functions run on Node ${execFileSync(node, ['--version'], { encoding: 'utf8' })}`);
    const measure = async ({ name, file, variables }: Deployed, work?: Case): Promise<Measured> => {
      const environment = environmentWith({ endpoint, certificateFile });
      const bucket = { AWS_LAMBDA_FUNCTION_NAME: name, LFS_QUOTA_BUCKET: `n${work?.repoObjects ?? 0}` };
      const env = { ...variables, ...environment, ...bucket, ...work?.variables };
      const measured: Measured = { name: work?.name ?? name, starts: [], first: [], warm: [] };
      const { calls = 0, ageMs = 0, repoObjects = 0 } = work ?? {};
      for (let round = 0; round < (work ? processes : Number(starts)); round += 1) {
        const child = await startChild<FunctionApi, Start>(program, { args: [file], node, env });
        measured.starts.push(child.ready);
        for (let call = 0; work && call < calls; call += 1) {
          await backend.call('reset', repoObjects, ageMs);
          const invoked = await child.call('invoke', work.event(round * 1000 + call));
          work.check(invoked.answer as never);
          measured[call === 0 ? 'first' : 'warm'].push(invoked);
        }
        await child.end();
      }
      return measured;
    };
    const started: Measured[] = [];
    for (const each of deployed) started.push(await measure(each));
    const startRows = started.map((each) => ({ name: each.name, samples: each.starts }));
    print(`Starts, medians of ${starts}\n${tableOf(startColumns, startRows)}\n`);
    const works: Measured[] = [];
    for (const work of cases) {
      const asked = deployed.find(({ name }) => name === work.function);
      if (asked) works.push(await measure(asked, work));
    }
    for (const calls of ['first', 'warm'] as const) {
      const rows = works.map((each) => ({ name: each.name, samples: each[calls] }));
      print(`Calls with a full core, ${calls}, medians\n${tableOf(callColumns, rows)}\n`);
    }
  });
}

interface Deployed {
  readonly name: string;
  /** The ES module. */
  readonly file: string;
  /** The environment variables that the stack gives it. What only AWS knows is `-`. */
  readonly variables: Readonly<Record<string, string>>;
}

/** Synthesizes a stage, as `cdk` does. The assets are what a deployment would upload. */
function deployedFunctions(outdir: string): Deployed[] {
  const context = { stage: 'prod', 'aws:cdk:enable-asset-metadata': true };
  const [stack] = buildApp({ outdir, context }).synth().stacks;
  const resources: Readonly<Record<string, Resource>> = stack?.template.Resources;
  return Object.entries(resources).flatMap(([id, { Metadata, Properties }]) => {
    const name = /^Functions(\w+?)Function[0-9A-F]{8}$/.exec(id)?.[1];
    const asset = Metadata?.['aws:asset:path'];
    if (!name || !asset) return [];
    const all = Object.entries(Properties.Environment?.Variables ?? {});
    const variables = Object.fromEntries(
      all.map(([key, value]) => [key, typeof value === 'string' ? value : '-']),
    );
    return [{ name, file: join(outdir, asset, 'index.mjs'), variables }];
  });
}

/** The part of a template's resource that matters here. */
interface Resource {
  readonly Metadata?: Readonly<Record<string, string>>;
  readonly Properties: { readonly Environment?: { readonly Variables: Readonly<Record<string, unknown>> } };
}

/** The environment of every function, with the backend instead of AWS. */
function environmentWith({ endpoint, certificateFile }: { endpoint: string; certificateFile: string }) {
  return {
    // Nothing else of this process's environment: it could change what is measured.
    PATH: process.env['PATH'] ?? '',
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: 'ASIABENCH',
    AWS_SECRET_ACCESS_KEY: 'bench',
    AWS_SESSION_TOKEN: 'token'.repeat(160),
    AWS_ENDPOINT_URL: endpoint,
    NODE_EXTRA_CA_CERTS: certificateFile,
    LFS_QUOTA_TABLE: 'lfs-quota',
    LFS_QUOTA_S3_REGION: 'us-east-1',
    LFS_QUOTA_S3_ENDPOINT: endpoint,
    LFS_QUOTA_QUEUE_URL: `${endpoint}/reconcile.fifo`,
    LFS_QUOTA_WEBHOOK_QUEUE_URL: `${endpoint}/webhooks`,
    LFS_QUOTA_GAUGED_QUEUES: '{}',
    LFS_QUOTA_ADMIN_SECRET_ARN: 'admin',
  };
}

const startColumns: Column<Start>[] = [
  ['kB', ({ codeBytes }) => Math.round(codeBytes / 1000)],
  ['gzipped', ({ gzippedBytes }) => Math.round(gzippedBytes / 1000)],
  ['Node ms', ({ nodeMs }) => nodeMs],
  ['load', ({ loadMs }) => loadMs],
  ['compose', ({ composeMs }) => composeMs],
  ['warm-up', ({ prepareMs }) => prepareMs],
  ['total', ({ totalMs }) => totalMs],
  ['CPU', ({ cpuMs }) => cpuMs],
  ['peak MB', ({ peakMb }) => Math.round(peakMb), 'max'],
];
const callColumns: Column<Invoked>[] = [
  ['ms', ({ wallMs }) => wallMs],
  ['CPU', ({ cpuMs }) => cpuMs],
  ['peak MB', ({ peakMb }) => Math.round(peakMb), 'max'],
];
