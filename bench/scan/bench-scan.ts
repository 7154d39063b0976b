import { execFile, execFileSync } from 'node:child_process';
import { parseArgs, promisify } from 'node:util';
import { formatNumber, formatTable } from '../../cost/command.ts';
import type { ListServerProcess } from '../list-server/process.ts';
import { bundle, Child } from '../processes.ts';
import { digits, medianOf, medianRatio, orderOfRound } from '../statistics.ts';
import type { Counted, SubjectApi, SubjectKind } from './subject.ts';

type Print = (text: string) => void;

/** A way to count one bucket. */
interface Way {
  readonly name: string;
  count(): Promise<Counted>;
  end(): Promise<void>;
}

interface Place {
  readonly endpoint: string;
  readonly keys: number;
}

const subjects: Readonly<Record<SubjectKind, string>> = {
  hint: 'this scan, hinted',
  probe: 'this scan, nothing known',
  sixteen: 'this scan, 16 at first',
  shards: 'recount, by shards',
  sdk: 'AWS SDK, paginator',
};

interface Tool {
  readonly args: (place: Place) => string[];
  readonly parse: (output: string) => { objects: number; bytes: number };
}

const tools: Readonly<Record<string, Tool>> = {
  s5cmd: {
    args: ({ endpoint, keys }) => ['--endpoint-url', endpoint, 'du', `s3://n${keys}/acme/app/*`],
    parse: (output) => {
      const [, bytes, objects] = /(\d+) bytes in (\d+) objects/.exec(output) ?? [];
      return { objects: Number(objects), bytes: Number(bytes) };
    },
  },
  rclone: {
    args: ({ endpoint, keys }) => [
      ...['size', '--json', '--fast-list'],
      `:s3,provider=Other,list_version=2,env_auth=true,force_path_style=true,endpoint="${endpoint}":n${keys}/acme/app`,
    ],
    parse: (output) => {
      const { count, bytes } = JSON.parse(output) as { count: number; bytes: number };
      return { objects: count, bytes };
    },
  },
};

/**
 * Counts a path of N keys by this project's scan, the SDK, and s5cmd and rclone if they are installed, against one list
 * server in its own process with a given time for each page. The ways take turns, and each count is checked.
 *
 * Options: `--keys=N,…` (1,000 to a million; up to 10⁹ with `--only=hint` or `shards`), `--keys-max=N`,
 * `--page-ms=MS,…` (0,100), `--runs=N` (5) after the first, `--only=hint,probe,sixteen,shards,sdk,s5cmd,rclone`.
 */
export async function benchScan(print: Print, options: readonly string[]): Promise<unknown> {
  const { values } = parseArgs({
    args: [...options],
    options: {
      keys: { type: 'string', default: '1000,4000,17000,100000,1000000' },
      'keys-max': { type: 'string', default: 'Infinity' },
      'page-ms': { type: 'string', default: '0,100' },
      runs: { type: 'string', default: '5' },
      only: { type: 'string' },
    },
  });
  const sizes = values.keys.split(',').map(Number);
  const only = values.only?.split(',');
  const installed = Object.keys(tools).filter(isInstalled);
  const missing = Object.keys(tools).filter((name) => !installed.includes(name));
  if (missing.length > 0) print(`Not on the PATH, so left out: ${missing.join(', ')}.\n`);
  const names = [...Object.keys(subjects), ...installed].filter((name) => only?.includes(name) ?? true);
  const program = await bundle(new URL('subject.ts', import.meta.url));
  const server: ListServerProcess = await Child.fork(new URL('../list-server/process.ts', import.meta.url));
  const measured = [];
  try {
    for (const pageMs of values['page-ms'].split(',').map(Number)) {
      await server.call('setLatencyMs', pageMs);
      for (const keys of sizes.filter((count) => count <= Number(values['keys-max']))) {
        const place = { endpoint: server.ready, keys };
        const ways = await Promise.all(names.map((name) => startWay(name, { place, program })));
        const rows = await measure(server, { ways, keys, runs: Number(values.runs) });
        printRows(print, { rows, keys, pageMs });
        measured.push(...rows.map((row) => ({ pageMs, keys, ...row })));
      }
    }
  } finally {
    await server.end();
  }
  return measured;
}

interface Measured {
  readonly name: string;
  readonly requests: number;
  /** The first count of a new process, which has compiled nothing yet. */
  readonly first: Counted;
  /** Further counts by the same process; of a tool, by a new one each. */
  readonly later: readonly Counted[];
}

async function measure(
  server: ListServerProcess,
  { ways, keys, runs }: { ways: readonly Way[]; keys: number; runs: number },
): Promise<Measured[]> {
  const bytes = await server.call('bytesOf', keys);
  const taken = new Map(ways.map(({ name }): [string, Counted[]] => [name, []]));
  const requests = new Map<string, number>();
  for (let run = 0; run <= runs; run += 1) {
    for (const { name, count } of orderOfRound(ways, run)) {
      const before = await server.call('stats');
      const counted = await count();
      if (counted.objects !== keys || counted.bytes !== bytes)
        throw new Error(`${name} counted ${counted.objects} objects of ${keys}, ${counted.bytes} bytes.`);
      requests.set(name, (await server.call('stats')).requests - before.requests);
      taken.get(name)?.push(counted);
    }
  }
  for (const way of ways) await way.end();
  return [...taken].flatMap(([name, [first, ...later]]) =>
    first ? [{ name, requests: requests.get(name) ?? 0, first, later }] : [],
  );
}

function printRows(
  print: Print,
  { rows, keys, pageMs }: { rows: readonly Measured[]; keys: number; pageMs: number },
): void {
  const [base] = rows;
  if (!base) return;
  const cells = rows.map(({ name, requests, first, later }) => {
    const cpuOf = (all: readonly Counted[]) => all.map(({ cpuMs }) => cpuMs);
    return [
      name,
      formatNumber(requests),
      digits(first.wallMs / 1000),
      digits((first.cpuMs * 1000) / keys),
      digits(first.cpuMs / base.first.cpuMs),
      digits(medianOf(later, ({ wallMs }) => wallMs) / 1000),
      digits((medianOf(later, ({ cpuMs }) => cpuMs) * 1000) / keys),
      digits(medianRatio(cpuOf(later), cpuOf(base.later))),
      formatNumber(Math.round([first, ...later].at(-1)?.peakMb ?? Number.NaN)),
    ];
  });
  const header = ['', 'LISTs', 'first s', 'CPU µs a key', '×', 'later s', 'CPU µs a key', '×', 'peak MB'];
  print(`${formatNumber(keys)} keys, ${pageMs} ms a page; medians of ${base.later.length} later counts`);
  print(`${formatTable(header, cells)}\n`);
}

async function startWay(name: string, { place, program }: { place: Place; program: string }): Promise<Way> {
  const tool = tools[name];
  if (tool) return { name, count: () => runTool({ name, ...tool }, place), end: async () => {} };
  const bucket = `n${place.keys}`;
  const process = await Child.fork<SubjectApi>(program, [name, place.endpoint, bucket]);
  return {
    name: subjects[name as SubjectKind],
    count: () => process.call('count', place.keys),
    end: () => process.end(),
  };
}

function isInstalled(name: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${name}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Runs a tool once. Times include the start of its process, as bash's `time` reports them. */
async function runTool({ name, args, parse }: Tool & { name: string }, place: Place): Promise<Counted> {
  const command = [name, ...args(place)].map((part) => `'${part}'`).join(' ');
  // None of your own AWS settings: only the given store and its keys.
  const env = {
    PATH: process.env['PATH'],
    HOME: process.env['HOME'],
    AWS_ACCESS_KEY_ID: 'bench',
    AWS_SECRET_ACCESS_KEY: 'bench-secret',
    AWS_REGION: 'us-east-1',
  };
  const script = `TIMEFORMAT='TIMES %R %U %S'; time ${command}`;
  const { stdout, stderr } = await promisify(execFile)('bash', ['-c', script], { env });
  const [, wall, user, system] = /TIMES ([\d.]+) ([\d.]+) ([\d.]+)/.exec(stderr) ?? [];
  return { ...parse(stdout), wallMs: Number(wall) * 1000, cpuMs: (Number(user) + Number(system)) * 1000 };
}
