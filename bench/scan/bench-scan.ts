import type { ListServerProcess } from '../list-server/process.ts';
import { bundle, startChild } from '../processes.ts';
import { type Column, digits, numbersOf, optionsOf, orderOfRound, tableOf } from '../statistics.ts';
import type { Counted, SubjectApi, SubjectKind } from './subject.ts';

const names: Readonly<Record<SubjectKind, string>> = {
  hint: 'this scan, hinted',
  age: '… by age',
  suffix: '… by suffix',
  class: '… by class',
  size: '… by size',
  probe: 'this scan, nothing known',
  sixteen: 'this scan, 16 at first',
  shards: 'reconcile, by shards',
  sdk: 'AWS SDK, paginator',
};
const kinds = Object.keys(names) as SubjectKind[];

/**
 * Counts a path of about N keys by this project's scan and the SDK, each in its own process, against one list server with
 * a given time for each page. They take turns, and each count is checked.
 *
 * Options: `--keys=N,…` (1,000 to a million; up to 10⁹ with `--only=hint` or `shards`), `--page-ms=MS,…` (0,100),
 * `--runs=N` (5) after the first, `--only=hint,age,suffix,class,size,probe,sixteen,shards,sdk`.
 */
export async function benchScan(print: (text: string) => void, options: readonly string[]): Promise<void> {
  const defaults = { keys: '1000,4000,17000,100000,1000000', 'page-ms': '0,100', runs: '5', only: '' };
  const values = optionsOf(options, defaults);
  const chosen = kinds.filter((kind) => values.only === '' || values.only.split(',').includes(kind));
  const program = await bundle(new URL('subject.ts', import.meta.url));
  const server: ListServerProcess = await startChild(new URL('../list-server/process.ts', import.meta.url));
  for (const pageMs of numbersOf(values['page-ms'])) {
    await server.call('setLatencyMs', pageMs);
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
  input: { program: string; kinds: readonly SubjectKind[]; keys: number; runs: number },
): Promise<{ name: string; samples: Sample[] }[]> {
  const { program, kinds, keys, runs } = input;
  const { objectCount, totalBytes } = await server.call('truthOf', keys);
  const ways = await Promise.all(
    kinds.map(async (kind) => {
      const child = await startChild<SubjectApi>(program, { args: [kind, server.ready, `n${keys}`] });
      return { child, name: names[kind], samples: [] as Sample[] };
    }),
  );
  for (let run = 0; run <= runs; run += 1) {
    for (const { child, name, samples } of orderOfRound(ways, run)) {
      const before = await server.call('requests');
      const counted = await child.call('count', keys);
      if (counted.objects !== objectCount || counted.bytes !== totalBytes)
        throw new Error(`${name} counted ${counted.objects} objects of ${objectCount}, ${counted.bytes} B.`);
      samples.push({ ...counted, requests: (await server.call('requests')) - before });
    }
  }
  for (const { child } of ways) await child.end();
  return ways;
}

const columns: Column<Sample>[] = [
  ['LISTs', ({ requests }) => requests],
  ['s', ({ wallMs }) => wallMs / 1000],
  ['CPU µs a key', ({ cpuMs, objects }) => (cpuMs * 1000) / objects],
  ['×', ({ cpuMs }) => cpuMs, 'ratio'],
  ['peak MB', ({ peakMb }) => peakMb, 'max'],
];
