import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { buildApp } from '../../lib/app.ts';
import { httpEvent } from '../../test/support/http-event.ts';
import { KeySet, nameOf } from '../list-server.ts';
import { bundle, checkouts, inFolder, startChild } from '../processes.ts';
import { type Column, digits, inTurns, optionsOf, tableOf } from '../statistics.ts';
import type { Used } from '../usage.ts';
import { type Backend, filesRepo, repo, startBackend, tenant, token } from './backend.ts';
import type { Invoked, Start } from './run-function.ts';

/** What lfsBatch is asked, and `files`, if it's uploads for each of which the store is asked. */
interface Case {
  readonly operation: 'upload' | 'download';
  readonly isOfFiles?: true;
  readonly count: number;
  /** Objects that the last count found in the repo. */
  readonly repoObjects: number;
}

const cases: readonly Case[] = [
  { operation: 'upload', count: 1, repoObjects: 100 },
  { operation: 'upload', count: 100, repoObjects: 1000 },
  // It asks the store for each object, as a listing would take longer.
  { operation: 'upload', count: 100, repoObjects: 20_000, isOfFiles: true },
  { operation: 'download', count: 100, repoObjects: 1000 },
];

const mediaType = 'application/vnd.git-lfs+json';

/** A batch of new objects, or of those that the repo has. @param call its number, so that no two have the same new objects. */
function eventOf({ operation, count, repoObjects }: Case, call: number) {
  const stored = new KeySet(repoObjects).page({ after: '', keysMax: count }).objects;
  const newOid = (index: number) => createHash('sha256').update(`${call}/${index}`).digest('hex');
  const objects = stored.map(({ position, sizeBytes: size }, index) => ({
    oid: operation === 'upload' ? newOid(index) : nameOf(position),
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
}

/** A request for the same uploads, of files. */
function filesEventOf(work: Case, call: number) {
  const { body } = eventOf(work, call);
  const { objects } = JSON.parse(Buffer.from(String(body), 'base64').toString()) as {
    objects: { oid: string; size: number }[];
  };
  const files = objects.map(({ oid, size }) => ({ name: `photos/${oid}.jpg`, bytes: size, sha256: oid }));
  return httpEvent({
    routeKey: 'POST /v1/tenants/{tenant}/repos/{repo}/uploads',
    path: `/v1/tenants/${tenant}/repos/${filesRepo}/uploads`,
    pathParameters: { tenant, repo: filesRepo },
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      host: 'lfs.example.com',
    },
    body: JSON.stringify({ files }),
  });
}

/** @throws {Error} when the work was not done: a fast wrong answer does not count. */
function check({ operation, count }: Case, answer: unknown): void {
  const { statusCode, body } = answer as { statusCode: number; body: string };
  const done = body.split(new RegExp(`"actions":{"${operation}":|"state":"${operation}"`)).length - 1;
  if (statusCode !== 200 || done !== count)
    throw new Error(`Answered ${statusCode}, with an action for ${done} of ${count} objects: ${body}`);
}

/** The compiler sees the code in the first calls, and improves it later: each part is a row. */
const parts: readonly (readonly [from: number, to: number])[] = [
  [1, 1],
  [2, 5],
  [6, 20],
  [21, 100],
  [101, 1000],
];
const processes = 2;

/** A call, with its number in its process. */
interface Sample extends Used {
  readonly call: number;
}

/**
 * Size and start of each function as it is deployed, and batches: in two processes for each kind, which take turns with those
 * of another checkout. × is the ratio of the CPU to that one's.
 *
 * Options: `--node=PATH` (the Node that runs the functions), `--only=lfsBatch,reconcile`, `--starts=N` (9), `--calls=N` (120) of
 * a process, `--beside=FOLDER`: the other checkout, with its packages.
 */
export async function benchFunctions(
  print: (text: string) => void,
  options: readonly string[],
): Promise<void> {
  const defaults = { node: process.execPath, only: '', starts: '9', calls: '120', beside: '' };
  const { node, only, starts, calls, beside } = optionsOf(options, defaults);
  await inFolder(async (folder, cleanup) => {
    const backend = await startBackend(folder);
    cleanup.add(() => backend.close());
    const program = await bundle(join(import.meta.dirname, 'run-function.ts'), folder);
    const start = ({ file, variables, ...named }: Deployed, repoObjects = 0) => {
      const bucket = { AWS_LAMBDA_FUNCTION_NAME: named.function, LFS_QUOTA_BUCKET: `n${repoObjects}` };
      const env = { ...variables, ...environmentWith(backend), ...bucket };
      return startChild(program, { args: [file], node, env });
    };
    const deployed: Deployed[] = [];
    for (const { place, root } of checkouts(beside))
      deployed.push(...(await deployedFunctions(root, { place, outdir: join(folder, `deployed${place}`) })));
    const wanted = deployed.filter((each) => only === '' || only.split(',').includes(each.function));
    print(`The functions run on Node ${execFileSync(node, ['--version'], { encoding: 'utf8' })}`);

    const startRows = await inTurns(wanted, Number(starts), async (each) => {
      const child = await start(each);
      await child.end();
      return [child.ready as Start];
    });
    print(`Starts, medians of ${starts}\n${tableOf(startColumns, startRows)}\n`);
    for (const work of wanted.some((each) => each.function === 'lfsBatch') ? cases : []) {
      const asked = wanted.flatMap((each) => {
        if (each.function === 'lfsBatch') return [each];
        // Its × is the ratio to the batch.
        return work.isOfFiles && each.name === 'files' ? [{ ...each, base: 'lfsBatch' }] : [];
      });
      const rows = await inTurns(asked, processes, async (each, round) => {
        const child = await start(each, work.repoObjects);
        const samples: Sample[] = [];
        for (let call = 0; call < Number(calls); call += 1) {
          await backend.reset(work.repoObjects);
          const event = (each.function === 'files' ? filesEventOf : eventOf)(work, round * 1000 + call);
          const { result, ...used } = (await child.ask(event)) as Invoked;
          check(work, result);
          samples.push({ ...used, call: call + 1 });
        }
        await child.end();
        return samples;
      });
      print(`${work.operation} of ${work.count}, repo of ${digits(work.repoObjects)}, with a full core`);
      const ofParts = parts
        .filter(([from]) => from <= Number(calls))
        .flatMap(([from, to]) => {
          const within = ({ call }: Sample) => call >= from && call <= to;
          return rows.map(({ name, samples, base }) => ({
            name: `${name}, call ${from === to ? from : `${from}–${to}`}`,
            samples: samples.filter(within),
            base: base?.filter(within),
          }));
        });
      print(`${tableOf(callColumns, ofParts)}\n`);
    }
  });
}

interface Deployed {
  readonly function: string;
  /** With what tells checkouts apart. */
  readonly name: string;
  /** That of the other checkout. */
  readonly base: string;
  /** The ES module. */
  readonly file: string;
  /** The environment variables that the stack gives it. What only AWS knows is `-`. */
  readonly variables: Readonly<Record<string, string>>;
}

/** The part of a template's resource that matters here. */
interface Resource {
  readonly Metadata?: Record<string, string>;
  readonly Properties: { readonly Environment?: { readonly Variables: Record<string, unknown> } };
}

/** Synthesizes a checkout, as `cdk` does. The assets are what a deployment would upload. */
async function deployedFunctions(
  root: string,
  { place, outdir }: { place: string; outdir: string },
): Promise<Deployed[]> {
  const app = (await import(join(root, 'lib/app.ts'))) as { buildApp: typeof buildApp };
  const context = { stage: 'prod', 'aws:cdk:enable-asset-metadata': true };
  const [stack] = app.buildApp({ outdir, context }).synth().stacks;
  const resources: Readonly<Record<string, Resource>> = stack?.template.Resources;
  return Object.entries(resources).flatMap(([id, { Metadata, Properties }]) => {
    const name = /^Functions(\w+?)Function[0-9A-F]{8}$/.exec(id)?.[1];
    const asset = Metadata?.['aws:asset:path'];
    if (!name || !asset) return [];
    const given = Object.entries(Properties.Environment?.Variables ?? {});
    const variables = Object.fromEntries(
      given.map(([key, value]) => [key, typeof value === 'string' ? value : '-']),
    );
    const names = { function: name, name: name + place, base: `${name}, beside` };
    return [{ ...names, file: join(outdir, asset, 'index.mjs'), variables }];
  });
}

/** The environment of every function, with the backend instead of AWS. */
const environmentWith = ({ url: endpoint, certificateFile }: Backend) => ({
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
});

const startColumns: Column<Start>[] = [
  ['kB', ({ codeBytes }) => Math.round(codeBytes / 1000)],
  ['gzipped', ({ gzippedBytes }) => Math.round(gzippedBytes / 1000)],
  ['ms', ({ wallMs }) => wallMs],
  ['CPU ms', ({ cpuMs }) => cpuMs],
  ['×', ({ cpuMs }) => cpuMs, 'ratio'],
  ['peak MB', ({ peakMb }) => Math.round(peakMb), 'max'],
];
const callColumns: Column<Used>[] = [
  ['ms', ({ wallMs }) => wallMs],
  ['CPU ms', ({ cpuMs }) => cpuMs],
  ['×', ({ cpuMs }) => cpuMs, 'ratio'],
  ['peak MB', ({ peakMb }) => Math.round(peakMb), 'max'],
];
