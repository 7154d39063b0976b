import { createHash, randomBytes } from 'node:crypto';
import { cpSync } from 'node:fs';
import { Agent, type IncomingMessage, request } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { installed } from '../peers.ts';
import { cpuMsOfTree, inFolder, peakMbOfTree } from '../processes.ts';
import { type Column, digits, numbersOf, optionsOf, orderOfRound, tableOf } from '../statistics.ts';
import {
  createLargeData,
  npmStart,
  packCli,
  packedServe,
  peers,
  type Repo,
  raceLimitBytes,
  type Subject,
} from './subjects.ts';

/** What one server did in a round. */
interface Round {
  readonly perSecond: number;
  /** Of a batch, as its client saw it. */
  readonly p50Ms: number;
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
  readonly objects: number;
  readonly ms: number;
}

const tenants = 10;
const races = 3;

/**
 * Many clients at once, each of which sends one batch of new objects after another: to `lfs-quota serve` as it is packed,
 * with an empty and a large table, and to servers of others. Each keeps objects on its own disk. They take turns, each
 * round freshly started.
 *
 * Options: `--clients=N` (50), `--objects=N,…` in a batch (1,100), `--seconds=N` a round (5), `--rounds=N` (5),
 * `--items=N` of the large table (1000000; 0: none), `--peers=on|off` (on), `--beside=FOLDER`: another checkout, with its
 * packages, whose `npm start` takes turns, too.
 */
export async function benchCrowd(print: (text: string) => void, options: readonly string[]): Promise<void> {
  const defaults = { clients: '50', objects: '1,100', seconds: '5', rounds: '5' };
  const values = optionsOf(options, { ...defaults, items: '1000000', peers: 'on', beside: '' });
  await inFolder(async (folder) => {
    const [program, items] = [await packCli(folder), Number(values.items)];
    const subjects = [packedServe(program, { name: 'serve' })];
    if (values.beside !== '') subjects.push(npmStart(values.beside));
    if (items > 0) {
      const data = await createLargeData(join(folder, 'large'), items);
      subjects.push(packedServe(program, { name: `serve, ${digits(items)} items`, data }));
    }
    if (values.peers === 'on') subjects.push(...installed(peers, print));
    for (const objects of numbersOf(values.objects)) {
      const rows = subjects.map((subject) => ({ subject, name: subject.name, samples: [] as Round[] }));
      const load = { clients: Number(values.clients), objects, ms: Number(values.seconds) * 1000 };
      for (let round = 0; round < Number(values.rounds); round += 1)
        for (const { subject, samples } of orderOfRound(rows, round))
          samples.push(await measureRound(subject, load));
      const base = rows[values.beside === '' ? 0 : 1]?.samples;
      const compared = rows.map((row) => ({ ...row, base }));
      print(`Batches of ${objects} new objects, from ${values.clients} clients of ${tenants} tenants`);
      print(`${tableOf(columns, compared)}\n`);
    }
  });
}

const columns: Column<Round>[] = [
  ['a second', ({ perSecond }) => perSecond],
  ['×', ({ perSecond }) => perSecond, 'ratio'],
  ['p50 ms', ({ p50Ms }) => p50Ms],
  ['p99 ms', ({ p99Ms }) => p99Ms],
  ['×', ({ p99Ms }) => p99Ms, 'ratio'],
  ['CPU ms', ({ cpuMs }) => cpuMs],
  ['start s', ({ startS }) => startS],
  ['peak MB', ({ peakMb }) => peakMb],
  ['passed', ({ passed }) => passed, 'max'],
  ['rounds', ({ perSecond }) => perSecond, 'all'],
  ['p99', ({ p99Ms }) => p99Ms, 'all'],
  ['MB', ({ peakMb }) => peakMb, 'all'],
];

function measureRound(subject: Subject, load: Load): Promise<Round> {
  return inFolder(async (folder, cleanup) => {
    if (subject.data) cpSync(subject.data, join(folder, 'data'), { recursive: true });
    const startedMs = performance.now();
    const server = await subject.start(folder);
    cleanup.add(() => server.stop());
    const startS = (performance.now() - startedMs) / 1000;
    const repos: Repo[] = [];
    for (let tenant = 0; tenant < tenants; tenant += 1)
      repos.push(await subject.repo(server.port, `tenant-${tenant}`, 1024 ** 4));
    // The compiler has seen the code afterwards.
    await sendBatches(repos, { ...load, ms: load.ms / 2 });
    const [fromMs, cpuBeforeMs] = [performance.now(), cpuMsOfTree(server.pid)];
    const took = await sendBatches(repos, load);
    const seconds = (performance.now() - fromMs) / 1000;
    const peakMb = peakMbOfTree(server.pid);
    const cpuMs = (cpuMsOfTree(server.pid) - cpuBeforeMs) / took.length;
    const at = (share: number) => took[Math.floor(took.length * share)] ?? Number.NaN;
    let passed = 0;
    for (let race = 0; race < races; race += 1) {
      const repo = await subject.repo(server.port, `race-${race}`, raceLimitBytes);
      passed = Math.max(passed, await pushTwo(repo));
    }
    const perSecond = took.length / seconds;
    return { perSecond, p50Ms: at(0.5), p99Ms: at(0.99), cpuMs, startS, peakMb, passed };
  });
}

/** @returns the time of each batch in ms, the shortest first. */
async function sendBatches(repos: readonly Repo[], { clients, objects, ms }: Load): Promise<number[]> {
  const took: number[] = [];
  const untilMs = performance.now() + ms;
  const send = async (repo: Repo) => {
    while (performance.now() < untilMs) took.push(await batch(repo, objects));
  };
  await Promise.all(Array.from({ length: clients }, (_, client) => send(repos[client % tenants] as Repo)));
  return took.sort((a, b) => a - b);
}

const type = 'application/vnd.git-lfs+json';
const postOf = ({ authorization }: Repo) => ({
  method: 'POST',
  headers: { ...(authorization && { authorization }), accept: type, 'content-type': type },
});
const bodyOf = (objects: readonly { oid: string; size: number }[]) =>
  JSON.stringify({ operation: 'upload', transfers: ['basic'], objects });
const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest('hex');

let objectsSoFar = 0;
const agent = new Agent({ keepAlive: true });

/** Sends a batch of new objects. @returns its time in ms. */
async function batch(repo: Repo, objects: number): Promise<number> {
  const wanted = Array.from({ length: objects }, () => {
    objectsSoFar += 1;
    return { oid: sha256(String(objectsSoFar)), size: 17 };
  });
  const options = { ...postOf(repo), agent };
  const startedMs = performance.now();
  // Not fetch: it would use as much of the machine as the server does.
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request(repo.url, options, resolve).on('error', reject).end(bodyOf(wanted));
  });
  const answered = await text(answer);
  const tookMs = performance.now() - startedMs;
  if (answer.statusCode !== 200 || answered.split('"upload"').length <= objects)
    throw new Error(`batch: ${answer.statusCode} ${answered.slice(0, 300)}`);
  return tookMs;
}

/** Pushes two objects at once, each of two thirds of the limit. @returns how many of them are stored. */
async function pushTwo(repo: Repo): Promise<number> {
  const push = async (bytes: Buffer) => {
    const wanted = [{ oid: sha256(bytes), size: bytes.length }];
    const answer = await fetch(repo.url, { ...postOf(repo), body: bodyOf(wanted) });
    const { objects } = (await answer.json()) as {
      objects?: { actions?: { upload?: { href: string; header?: Record<string, string> } } }[];
    };
    const upload = objects?.[0]?.actions?.upload;
    if (!upload) return false;
    const put = await fetch(upload.href, { method: 'PUT', headers: upload.header ?? {}, body: bytes });
    await put.text();
    return put.ok;
  };
  const stored = await Promise.all([1, 2].map(() => push(randomBytes((raceLimitBytes * 2) / 3))));
  return stored.filter(Boolean).length;
}
