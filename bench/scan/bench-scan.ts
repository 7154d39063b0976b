import { createServer } from 'node:http';
import { join } from 'node:path';
import { closeServer, listen } from '../../local/system/loopback-server.ts';
import { Random } from '../../test/support/random.ts';
import { ListServer } from '../list-server.ts';
import { bundle, type Child, checkouts, inFolder, startChild } from '../processes.ts';
import { type Column, digits, inTurns, numbersOf, optionsOf, tableOf } from '../statistics.ts';
import type { Counted, SubjectKind } from './subject.ts';

const names: Readonly<Record<SubjectKind, string>> = {
  hint: 'this scan, hinted',
  probe: 'this scan, nothing known',
  sixteen: 'this scan, 16 at first',
  sdk: 'AWS SDK, paginator',
};

interface Sample extends Counted {
  readonly requests: number;
  /** Of the first count in this process. */
  readonly firstMs: number;
}

/**
 * Counts a path of about N keys by this project's scan and the SDK, each in its own process, against one list server with a
 * given time for each page, or times drawn between two. They take turns, and each count is checked. × is the ratio to the
 * SDK, or to the same count by the checkout beside.
 *
 * Options: `--keys=N,…` (1,000 to a million; up to 10⁹ with `--only=hint`), `--page-ms=MS,…` (0,100; or 1900-7100),
 * `--runs=N` (5) after the first, `--only=hint,probe,sixteen,sdk`, `--beside=FOLDER`: another checkout, with its packages and
 * a `bench/` like this one, whose counts take turns, too.
 */
export async function benchScan(print: (text: string) => void, options: readonly string[]): Promise<void> {
  const defaults = { keys: '1000,4000,17000,100000,1000000', 'page-ms': '0,100', runs: '5' };
  const values = optionsOf(options, { ...defaults, only: Object.keys(names).join(), beside: '' });
  await inFolder(async (folder, cleanup) => {
    const list = new ListServer();
    const server = createServer({ keepAliveTimeout: 60_000 }, list.answer);
    cleanup.add(() => closeServer(server, 0));
    const endpoint = `http://127.0.0.1:${await listen(server, { port: 0, usedBy: 'the list server' })}`;
    const ways: { name: string; base: string; kind: SubjectKind; program: string }[] = [];
    for (const { place, root } of checkouts(values.beside)) {
      const program = await bundle(join(root, 'bench/scan/subject.ts'), folder);
      for (const kind of values.only.split(',') as SubjectKind[]) {
        const base = values.beside === '' ? names.sdk : `${names[kind]}, beside`;
        ways.push({ name: names[kind] + place, base, kind, program });
      }
    }
    for (const pageMs of values['page-ms'].split(',')) {
      const [fromMs = 0, toMs = fromMs] = pageMs.split('-').map(Number);
      const random = new Random(1);
      list.latencyMs = () => fromMs + (toMs - fromMs) * random.next();
      for (const keys of numbersOf(values.keys)) {
        const { objectCount, totalBytes } = list.keySet(keys);
        const count = async (name: string, child: Child): Promise<Counted & { requests: number }> => {
          const before = list.requests;
          const counted = (await child.ask(keys)) as Counted;
          if (counted.objects !== objectCount || counted.bytes !== totalBytes)
            throw new Error(`${name}: ${counted.objects} objects of ${objectCount}, ${counted.bytes} B.`);
          return { ...counted, requests: list.requests - before };
        };
        const started: { name: string; base: string; child: Child; firstMs: number }[] = [];
        for (const { name, base, kind, program } of ways) {
          const child = await startChild(program, { args: [kind, endpoint, `n${keys}`] });
          started.push({ name, base, child, firstMs: (await count(name, child)).wallMs });
        }
        const rows = await inTurns(started, Number(values.runs), async ({ name, child, firstMs }) => [
          { ...(await count(name, child)), firstMs },
        ]);
        for (const { child } of started) await child.end();
        print(`About ${digits(keys)} keys, ${pageMs} ms a page\n${tableOf(columns, rows)}\n`);
      }
    }
  });
}

const columns: Column<Sample>[] = [
  ['first s', ({ firstMs }) => firstMs / 1000],
  ['then s', ({ wallMs }) => wallMs / 1000, 'range'],
  ['×', ({ wallMs }) => wallMs, 'ratio'],
  ['CPU µs a key', ({ cpuMs, objects }) => (cpuMs * 1000) / objects],
  ['×', ({ cpuMs }) => cpuMs, 'ratio'],
  ['LISTs', ({ requests }) => requests],
  ['peak MB', ({ peakMb }) => peakMb, 'max'],
];
