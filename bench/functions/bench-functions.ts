import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { gzipSync } from 'node:zlib';
import * as z from 'zod';
import { formatNumber, formatTable } from '../../cost/command.ts';
import { httpEvent } from '../../test/support/http-event.ts';
import { ListServer, objectsIn } from '../list-server/server.ts';
import { bundle, Child, makeCertificate } from '../processes.ts';
import { digits, medianOf, medianRatio, orderOfRound } from '../statistics.ts';
import type { BackendApi } from './backend.ts';
import type { FunctionApi, Invoked, Start } from './run-function.ts';
import { repo, tenant, token } from './seed.ts';

/** A batch of new objects, or of those that a repo has. */
interface Case {
  readonly name: string;
  /** Objects that the last count found in the repo. */
  readonly repoObjects: number;
  /** @param call its number, so that no two calls have the same new objects. */
  readonly event: (call: number) => unknown;
  /** @throws {Error} when the work was not done: a fast wrong answer does not count. */
  readonly check: (answer: unknown) => void;
}

const mediaType = 'application/vnd.git-lfs+json';
const httpAnswer = z.object({ statusCode: z.number(), body: z.string() });
const batchBody = z.object({ objects: z.array(z.object({ actions: z.record(z.string(), z.unknown()) })) });

function batch(operation: 'upload' | 'download', count: number, repoObjects: number): Case {
  const set = new ListServer().keySet(repoObjects);
  const stored = objectsIn(set.page({ after: '', keysMax: count }), set.prefix);
  const newObjects = (call: number) =>
    Array.from({ length: count }, (_, index) => {
      const oid = createHash('sha256').update(`${call}/${index}`).digest('hex');
      return { oid, size: 1000 };
    });
  return {
    name: `${operation} of ${count}, repo of ${repoObjects.toLocaleString('en')}`,
    repoObjects,
    event: (call) => {
      const objects =
        operation === 'upload'
          ? newObjects(call)
          : stored.map(({ name, sizeBytes }) => ({ oid: name, size: sizeBytes }));
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
    check: (answer) => {
      const { statusCode, body } = httpAnswer.parse(answer);
      if (statusCode !== 200) throw new Error(`Answered ${statusCode}: ${body}`);
      const { objects } = batchBody.parse(JSON.parse(body));
      const done = objects.filter(({ actions }) => operation in actions).length;
      if (done !== count) throw new Error(`${done} of ${count} objects have an action ${operation}.`);
    },
  };
}

const cases: readonly Case[] = [
  batch('upload', 1, 100),
  batch('upload', 100, 1000),
  batch('upload', 100, 4000),
  batch('upload', 100, 20_000),
  batch('download', 100, 1000),
];

type Print = (text: string) => void;

interface Plan {
  /** The Node that runs the functions, and the program that loads a bundle. */
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly backend: Child<BackendApi>;
}

/** A function as a checkout would deploy it. */
interface Deployed {
  readonly function: string;
  readonly checkout: 'this' | 'before';
  /** The ES module. */
  readonly file: string;
  /** The environment variables that the stack gives it. What only AWS knows is `-`. */
  readonly variables: Readonly<Record<string, string>>;
}

/**
 * Size and start of each function as it is deployed, and batches.
 *
 * Options: `--node=PATH` (the Node that runs the functions), `--only=lfsBatch,reconcile`, `--starts=N` (9),
 * `--processes=N` (2) of `--warm-calls=N` (4) each for each kind of batch, `--before=FOLDER`: another checkout, with its
 * packages, whose functions take turns with these.
 */
export async function benchFunctions(print: Print, options: readonly string[]): Promise<unknown> {
  const { values } = parseArgs({
    args: [...options],
    options: {
      node: { type: 'string', default: process.execPath },
      only: { type: 'string' },
      starts: { type: 'string', default: '9' },
      processes: { type: 'string', default: '2' },
      'warm-calls': { type: 'string', default: '4' },
      before: { type: 'string' },
    },
  });
  const { node, before } = values;
  const only = values.only?.split(',');
  const folder = mkdtempSync(join(tmpdir(), 'lfs-quota-functions-'));
  const backend: Plan['backend'] = await Child.fork(new URL('backend.ts', import.meta.url));
  try {
    const { file: certificateFile, ...tls } = makeCertificate(folder);
    const endpoint = `https://127.0.0.1:${await backend.call('listen', tls)}`;
    const program = await bundle(new URL('run-function.ts', import.meta.url));
    const environment = environmentWith({ endpoint, certificateFile });
    const plan: Plan = { command: [node, program], environment, backend };
    const root = fileURLToPath(new URL('../../', import.meta.url));
    const all = [
      ...deployedFrom(root, { checkout: 'this', folder }),
      ...(before === undefined ? [] : deployedFrom(before, { checkout: 'before', folder })),
    ].filter((each) => only?.includes(each.function) ?? true);
    print(`The functions run on Node ${execFileSync(node, ['--version'], { encoding: 'utf8' })}`);
    const starts: MeasuredStart[] = [];
    const works: MeasuredWork[] = [];
    for (const name of new Set(all.map((each) => each.function))) {
      const found = all.filter((each) => each.function === name);
      starts.push(...(await measureStarts(plan, found, Number(values.starts))));
    }
    printStarts(print, starts);
    for (const work of cases) {
      const found = all.filter((each) => each.function === 'lfsBatch');
      const counts = { processes: Number(values.processes), warmCalls: Number(values['warm-calls']) };
      works.push(...(await measureWork(plan, { found, work, ...counts })));
    }
    printWork(print, works);
    return { starts, works };
  } finally {
    await backend.end();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Synthesizes a checkout, as `cdk` does. The assets are what a deployment would upload. */
function deployedFrom(
  root: string,
  { checkout, folder }: { checkout: Deployed['checkout']; folder: string },
): Deployed[] {
  const { context } = JSON.parse(readFileSync(join(root, 'cdk.json'), 'utf8'));
  const out = join(folder, checkout);
  const env = {
    PATH: process.env['PATH'],
    CDK_OUTDIR: out,
    CDK_CONTEXT_JSON: JSON.stringify({ ...context, stage: 'prod', 'aws:cdk:enable-asset-metadata': true }),
  };
  execFileSync(process.execPath, ['--import', 'tsx', 'bin/app.ts'], { cwd: root, env, stdio: 'pipe' });
  const { Resources } = JSON.parse(readFileSync(join(out, 'lfs-quota-prod.template.json'), 'utf8'));
  return Object.entries(Resources as Readonly<Record<string, Resource>>).flatMap(
    ([id, { Metadata, Properties }]) => {
      const name = /^Functions(\w+?)Function[0-9A-F]{8}$/.exec(id)?.[1];
      const asset = Metadata?.['aws:asset:path'];
      if (!name || !asset) return [];
      const all = Object.entries(Properties.Environment?.Variables ?? {});
      const variables = Object.fromEntries(
        all.map(([key, value]) => [key, typeof value === 'string' ? value : '-']),
      );
      return [{ function: name, checkout, file: join(out, asset, 'index.mjs'), variables }];
    },
  );
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

type FunctionProcess = Child<FunctionApi, Start>;

function start(plan: Plan, one: Deployed, objects = 0): Promise<FunctionProcess> {
  const [node = '', program = ''] = plan.command;
  const env = {
    ...one.variables,
    ...plan.environment,
    AWS_LAMBDA_FUNCTION_NAME: one.function,
    LFS_QUOTA_BUCKET: `n${objects}`,
  };
  return Child.of(spawn(node, [program, one.file], { env, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] }));
}

interface MeasuredStart extends Deployed {
  readonly starts: readonly Start[];
}

/** Fresh processes of one function, of all checkouts in turns. */
async function measureStarts(
  plan: Plan,
  found: readonly Deployed[],
  processes: number,
): Promise<MeasuredStart[]> {
  const measured = found.map((each) => ({ ...each, starts: [] as Start[] }));
  for (let round = 0; round < processes; round += 1) {
    for (const one of orderOfRound(measured, round)) {
      const child = await start(plan, one);
      one.starts.push(child.ready);
      await child.end();
    }
  }
  return measured;
}

interface MeasuredWork extends Deployed {
  readonly case: string;
  /** The first call of each process, and the others. */
  readonly first: readonly Invoked[];
  readonly warm: readonly Invoked[];
}

async function measureWork(
  plan: Plan,
  input: { found: readonly Deployed[]; work: Case; processes: number; warmCalls: number },
): Promise<MeasuredWork[]> {
  const { found, work, processes, warmCalls } = input;
  const measured = found.map((each) => ({
    ...each,
    case: work.name,
    first: [] as Invoked[],
    warm: [] as Invoked[],
  }));
  for (let round = 0; round < processes; round += 1) {
    for (const one of orderOfRound(measured, round)) {
      const child = await start(plan, one, work.repoObjects);
      one.first.push(await callOnce(plan, work, child));
      for (let call = 0; call < warmCalls; call += 1) one.warm.push(await callOnce(plan, work, child));
      await child.end();
    }
  }
  return measured;
}

let callsSoFar = 0;

async function callOnce({ backend }: Plan, work: Case, child: FunctionProcess): Promise<Invoked> {
  callsSoFar += 1;
  await backend.call('reset', work.repoObjects);
  const invoked = await child.call('invoke', work.event(callsSoFar));
  work.check(invoked.answer);
  return invoked;
}

const cpuOf = (all: readonly { cpuMs: number }[] = []) => all.map(({ cpuMs }) => cpuMs);
const megabytes = (all: readonly { peakMb: number }[]) =>
  formatNumber(Math.round(Math.max(...all.map(({ peakMb }) => peakMb))));

function printStarts(print: Print, measured: readonly MeasuredStart[]): void {
  const figures = ['nodeMs', 'loadMs', 'composeMs', 'prepareMs', 'totalMs', 'cpuMs'] as const;
  const rows = measured.map((row) => {
    const { starts, checkout, file } = row;
    const code = readFileSync(file);
    const own = measured.find((each) => each.function === row.function && each.checkout === 'this');
    return [
      checkout === 'this' ? row.function : '… before',
      ...[code, gzipSync(code)].map(({ length }) => formatNumber(Math.round(length / 1000))),
      ...figures.map((figure) => digits(medianOf(starts, (each) => each[figure]))),
      digits(medianRatio(cpuOf(own?.starts), cpuOf(starts))),
      megabytes(starts),
    ];
  });
  const parts = ['Node ms', 'load', 'compose', 'warm-up', 'total', 'CPU', 'this ×', 'peak MB'];
  print(`Starts, medians of ${measured[0]?.starts.length ?? 0}; this × is of CPU`);
  print(`${formatTable(['', 'kB', 'gzipped', ...parts], rows)}\n`);
}

function printWork(print: Print, measured: readonly MeasuredWork[]): void {
  const rows = measured.map((row) => {
    const { first, warm, checkout } = row;
    const own = measured.find((each) => each.case === row.case && each.checkout === 'this');
    return [
      checkout === 'this' ? row.case : '… before',
      ...[first, warm].flatMap((calls) => [
        digits(medianOf(calls, ({ wallMs }) => wallMs)),
        digits(medianOf(calls, ({ cpuMs }) => cpuMs)),
        digits(medianRatio(cpuOf(calls === first ? own?.first : own?.warm), cpuOf(calls))),
      ]),
      megabytes([...first, ...warm]),
    ];
  });
  const header = ['', 'first ms', 'CPU', 'this ×', 'warm ms', 'CPU', 'this ×', 'peak MB'];
  print(`Batches with a full core, medians; this × is of CPU`);
  print(`${formatTable(header, rows)}\n`);
}
