import { createHash, randomBytes } from 'node:crypto';
import { cpSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { checkouts, inFolder } from '../processes.ts';
import { type Column, inTurns, numbersOf, optionsOf, tableOf } from '../statistics.ts';
import { cpuMsOfTree, peakMbOfTree } from '../usage.ts';
import {
  installedPeers,
  packedServe,
  presignOnly,
  type Repo,
  raceLimitBytes,
  type Subject,
  startSubject,
} from './subjects.ts';

/** What one server did in a round. */
interface Round {
  readonly perSecond: number;
  /** Of a batch, as its client saw it. */
  readonly p99Ms: number;
  /** Of the server's processes only, for each batch. */
  readonly cpuMs: number;
  readonly startS: number;
  readonly peakMb: number;
  /** Of two pushes at once of which only one fits into the limit, in the worst of some tries. */
  readonly passed: number;
}

interface Load {
  readonly clients: number;
  readonly tenants: number;
  readonly objects: number;
  readonly ms: number;
}

const races = 3;

/**
 * Many clients at once, each of which sends one batch of new objects after another: to `lfs-quota serve` as it is packed, to a
 * server that only signs URLs, which is the bound, and to servers of others. Each keeps objects on its own disk. They take
 * turns, each round freshly started. × is the ratio to `serve`, or to that of the checkout beside.
 *
 * Options: `--clients=N` (50), `--tenants=N` (10), `--objects=N,…` in a batch (1,100), `--seconds=N` a round (5), `--rounds=N`
 * (5), `--data=FOLDER` that `serve` starts with in a row more, `--peers=on|off` (on), `--beside=FOLDER`: another checkout, with
 * its packages, whose `serve` takes turns, too.
 */
export async function benchCrowd(print: (text: string) => void, options: readonly string[]): Promise<void> {
  const defaults = { clients: '50', tenants: '10', objects: '1,100', seconds: '5', rounds: '5' };
  const values = optionsOf(options, { ...defaults, data: '', peers: 'on', beside: '' });
  await inFolder(async (folder) => {
    const subjects: Subject[] = [];
    for (const { place, root } of checkouts(values.beside)) {
      const serve = { name: `serve${place}`, ...(await packedServe(root, folder)) };
      subjects.push(serve);
      if (values.data !== '')
        subjects.push({ ...serve, name: `${serve.name}, with data`, data: values.data });
    }
    subjects.push(await presignOnly(folder), ...(values.peers === 'on' ? installedPeers(print) : []));
    const base = values.beside === '' ? 'serve' : 'serve, beside';
    const compared = subjects.map((subject) => ({ ...subject, base }));
    const [clients, tenants] = [Number(values.clients), Number(values.tenants)];
    for (const objects of numbersOf(values.objects)) {
      const load = { clients, tenants, objects, ms: Number(values.seconds) * 1000 };
      const rows = await inTurns(compared, Number(values.rounds), async (subject) => [
        await measureRound(subject, load),
      ]);
      print(`Batches of ${objects} new objects, from ${clients} clients of ${tenants} tenants`);
      print(`${tableOf(columns, rows)}\n`);
    }
  });
}

const columns: Column<Round>[] = [
  ['a second', ({ perSecond }) => perSecond, 'range'],
  ['×', ({ perSecond }) => perSecond, 'ratio'],
  ['p99 ms', ({ p99Ms }) => p99Ms, 'range'],
  ['×', ({ p99Ms }) => p99Ms, 'ratio'],
  ['CPU ms', ({ cpuMs }) => cpuMs],
  ['×', ({ cpuMs }) => cpuMs, 'ratio'],
  ['start s', ({ startS }) => startS],
  ['peak MB', ({ peakMb }) => peakMb, 'range'],
  ['passed', ({ passed }) => passed, 'max'],
];

function measureRound(subject: Subject, load: Load): Promise<Round> {
  return inFolder(async (folder, cleanup) => {
    if (subject.data) cpSync(subject.data, join(folder, 'data'), { recursive: true });
    const startedMs = performance.now();
    const server = await startSubject(subject, folder);
    cleanup.add(() => server.stop());
    const startS = (performance.now() - startedMs) / 1000;
    const repos: Repo[] = [];
    for (let tenant = 0; tenant < load.tenants; tenant += 1)
      repos.push(await subject.repo(server.port, `tenant-${tenant}`, 1024 ** 4));
    // The compiler has seen the code afterwards.
    await sendBatches(repos, { ...load, ms: load.ms / 2 });
    const [fromMs, cpuBeforeMs] = [performance.now(), cpuMsOfTree(server.pid)];
    const took = await sendBatches(repos, load);
    const seconds = (performance.now() - fromMs) / 1000;
    const peakMb = peakMbOfTree(server.pid);
    const cpuMs = (cpuMsOfTree(server.pid) - cpuBeforeMs) / took.length;
    const p99Ms = took[Math.floor(took.length * 0.99)] ?? Number.NaN;
    let passed = 0;
    for (let race = 0; race < races; race += 1) {
      const repo = await subject.repo(server.port, `race-${race}`, raceLimitBytes);
      passed = Math.max(passed, await pushTwo(repo));
    }
    const perSecond = took.length / seconds;
    return { perSecond, p99Ms, cpuMs, startS, peakMb, passed };
  });
}

/** @returns the time of each batch in ms, the shortest first. */
async function sendBatches(repos: readonly Repo[], { clients, objects, ms }: Load): Promise<number[]> {
  const took: number[] = [];
  const untilMs = performance.now() + ms;
  const send = async (repo: Repo) => {
    while (performance.now() < untilMs) took.push(await batch(repo, objects));
  };
  await Promise.all(
    Array.from({ length: clients }, (_, client) => send(repos[client % repos.length] as Repo)),
  );
  return took.sort((a, b) => a - b);
}

const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex');
const agent = new Agent({ keepAlive: true });

/** Asks for the upload of objects. Not by fetch: it would use as much of the machine as the server does. */
async function ask({ url, authorization }: Repo, objects: readonly { oid: string; size: number }[]) {
  const type = 'application/vnd.git-lfs+json';
  const headers = { ...(authorization && { authorization }), accept: type, 'content-type': type };
  const body = JSON.stringify({ operation: 'upload', transfers: ['basic'], objects });
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { method: 'POST', headers, agent }, resolve).on('error', reject).end(body);
  });
  return { status: answer.statusCode, body: await text(answer) };
}

let objectsSoFar = 0;

/** Sends a batch of new objects. @returns its time in ms. */
async function batch(repo: Repo, objects: number): Promise<number> {
  const wanted = Array.from({ length: objects }, () => {
    objectsSoFar += 1;
    return { oid: sha256(String(objectsSoFar)), size: 17 };
  });
  const startedMs = performance.now();
  const { status, body } = await ask(repo, wanted);
  const tookMs = performance.now() - startedMs;
  if (status !== 200 || body.split('"upload"').length <= objects)
    throw new Error(`batch: ${status} ${body.slice(0, 300)}`);
  return tookMs;
}

/** Pushes two objects at once, each of two thirds of the limit. @returns how many of them are stored. */
async function pushTwo(repo: Repo): Promise<number> {
  const push = async (bytes: Buffer) => {
    const { body } = await ask(repo, [{ oid: sha256(bytes), size: bytes.length }]);
    const upload = JSON.parse(body).objects?.[0]?.actions?.upload;
    if (!upload) return false;
    const put = fetch(upload.href, { method: 'PUT', headers: upload.header ?? {}, body: bytes });
    return put.then(
      ({ ok }) => ok,
      () => false,
    );
  };
  const stored = await Promise.all([1, 2].map(() => push(randomBytes((raceLimitBytes * 2) / 3))));
  return stored.filter(Boolean).length;
}
