import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { ListServerProcess } from '../list-server/process.ts';
import { installed, peerNames, programOf } from '../peers.ts';
import { bundle, startChild } from '../processes.ts';
import { type Column, digits, numbersOf, optionsOf, orderOfRound, tableOf } from '../statistics.ts';
import type { Counted, SubjectApi, SubjectKind } from './subject.ts';

type Kind = SubjectKind | 'boto3';

const names: Readonly<Record<Kind, string>> = {
  hint: 'this scan, hinted',
  age: '… by age',
  suffix: '… by suffix',
  class: '… by class',
  size: '… by size',
  probe: 'this scan, nothing known',
  sixteen: 'this scan, 16 at first',
  shards: 'reconcile, by shards',
  sdk: 'AWS SDK, paginator',
  boto3: 'boto3, paginator',
};
const kinds = Object.keys(names) as Kind[];

/**
 * Counts a path of about N keys by this project's scan and the SDKs, each in its own process, against one list server with
 * a given time for each page, or times drawn between two. They take turns, and each count is checked.
 *
 * Options: `--keys=N,…` (1,000 to a million; up to 10⁹ with `--only=hint` or `shards`), `--page-ms=MS,…` (0,100; or 1900-7100),
 * `--runs=N` (5) after the first, `--only=hint,age,suffix,class,size,probe,sixteen,shards,sdk,boto3`.
 */
export async function benchScan(print: (text: string) => void, options: readonly string[]): Promise<void> {
  const defaults = { keys: '1000,4000,17000,100000,1000000', 'page-ms': '0,100', runs: '5', only: '' };
  const values = optionsOf(options, defaults);
  const wanted = kinds.filter((kind) => values.only === '' || values.only.split(',').includes(kind));
  const chosen = wanted.filter(
    (kind) => kind !== 'boto3' || installed([{ name: peerNames.boto3 }], print)[0],
  );
  const program = await bundle(new URL('subject.ts', import.meta.url));
  const server: ListServerProcess = await startChild(new URL('../list-server/process.ts', import.meta.url));
  for (const pageMs of values['page-ms'].split(',')) {
    const [fromMs = 0, toMs = fromMs] = pageMs.split('-').map(Number);
    await server.call('setLatencyMs', fromMs, toMs);
    for (const keys of numbersOf(values.keys)) {
      const rows = await measure(server, { program, kinds: chosen, keys, runs: Number(values.runs) });
      for (const [what, from, to] of [
        ['first count', 0, 1],
        [`medians of ${values.runs} later counts`, 1, undefined],
      ] as const) {
        const part = rows.map(({ name, samples }) => ({ name, samples: samples.slice(from, to) }));
        const based = part.map((row) => ({ ...row, base: part[0]?.samples }));
        print(`About ${digits(keys)} keys, ${pageMs} ms a page; ${what}\n${tableOf(columns, based)}\n`);
      }
    }
  }
  await server.end();
}

type Sample = Counted & { readonly requests: number };

/** All counts of each kind, by one process: the first has compiled nothing yet. */
async function measure(
  server: ListServerProcess,
  input: { program: string; kinds: readonly Kind[]; keys: number; runs: number },
): Promise<{ name: string; samples: Sample[] }[]> {
  const { program, kinds, keys, runs } = input;
  const { objectCount, totalBytes } = await server.call('truthOf', keys);
  const ways = await Promise.all(
    kinds.map(async (kind) => {
      const way = { name: names[kind], samples: [] as Sample[] };
      if (kind === 'boto3')
        return { ...way, count: () => countByBoto3(server.ready, keys), end: async () => {} };
      const child = await startChild<SubjectApi>(program, { args: [kind, server.ready, `n${keys}`] });
      return { ...way, count: () => child.call('count', keys), end: () => child.end() };
    }),
  );
  for (let run = 0; run <= runs; run += 1) {
    for (const { count, name, samples } of orderOfRound(ways, run)) {
      const before = await server.call('requests');
      const counted = await count();
      if (counted.objects !== objectCount || counted.bytes !== totalBytes)
        throw new Error(`${name} counted ${counted.objects} objects of ${objectCount}, ${counted.bytes} B.`);
      samples.push({ ...counted, requests: (await server.call('requests')) - before });
    }
  }
  for (const { end } of ways) await end();
  return ways;
}

/** In a process of its own each time. Its start isn't counted. */
async function countByBoto3(endpoint: string, keys: number): Promise<Counted> {
  const script = fileURLToPath(new URL('boto3-count.py', import.meta.url));
  const args = [script, endpoint, `n${keys}`, 'acme/app/'];
  const { stdout } = await promisify(execFile)(programOf(peerNames.boto3, 'python'), args);
  return JSON.parse(stdout) as Counted;
}

const columns: Column<Sample>[] = [
  ['LISTs', ({ requests }) => requests],
  ['s', ({ wallMs }) => wallMs / 1000],
  ['mean ± σ (from–to)', ({ wallMs }) => wallMs / 1000, 'spread'],
  ['CPU µs a key', ({ cpuMs, objects }) => (cpuMs * 1000) / objects],
  ['×', ({ cpuMs }) => cpuMs, 'ratio'],
  ['peak MB', ({ peakMb }) => peakMb, 'max'],
];
