import { cpus } from 'node:os';
import { formatNumber, formatTable } from '../../cost/tables.ts';
import { Child } from '../child/child.ts';
import type { ListServerProcess } from '../list-server/process.ts';
import { median } from '../statistics.ts';
import { writeChart } from './chart.ts';
import { createCpuQuota } from './cpu-quota.ts';
import { installedTools, runTool } from './external-tools.ts';
import { checkFigures } from './figures.ts';
import type { Measured } from './measured.ts';
import type { RunRequest, RunResult } from './run-subject.ts';
import { measureServer } from './server-limits.ts';
import type { SubjectKind } from './subject.ts';
import { bundleSubjects, runWithin, type SubjectProcess, startSubject } from './subject-process.ts';

interface Condition {
  readonly name: string;
  readonly latencyMs: number;
  readonly latencySigma?: number;
  readonly keys: readonly number[];
  /** Number of runs for a number of keys. */
  readonly runs: (keys: number) => number;
}

const all: readonly SubjectKind[] = ['sdk', 'sdk-16', 'fixed-16', 'probe', 'sixteen', 'hint'];
const sizes = [0, 100, 1000, 4000, 16_000, 17_000, 100_000, 1_000_000];
const quotaShare = 0.145;
/** Warms up every process: in a container that lives for hours, the compiler has seen all code many times. */
const warming = { turns: 50, keys: 17_000 };

const conditions: readonly Condition[] = [
  {
    name: 'no latency',
    latencyMs: 0,
    keys: [4000, 17_000, 100_000, 1_000_000],
    runs: (n) => (n > 100_000 ? 1 : 3),
  },
  {
    name: '100 ms',
    latencyMs: 100,
    keys: sizes,
    runs: (n) => (n > 100_000 ? 1 : n > 17_000 ? 3 : 5),
  },
  {
    name: '100 ms, lognormal (σ 0.5)',
    latencyMs: 100,
    latencySigma: 0.5,
    keys: [17_000, 100_000],
    runs: () => 2,
  },
  { name: '2.5 s', latencyMs: 2500, keys: [4000, 17_000], runs: () => 1 },
];

/** Compares the ways of counting, against one list server in its own process. */
export async function benchScan(print: (text: string) => void, options: readonly string[]): Promise<unknown> {
  const keysMax = Number(/^--keys-max=(\d+)$/.exec(options.join(' '))?.[1] ?? Number.POSITIVE_INFINITY);
  await bundleSubjects();
  const server: ListServerProcess = await Child.fork(new URL('../list-server/process.ts', import.meta.url));
  for (const keys of sizes) if (keys <= keysMax) await server.call('prepare', keys);
  print(`${cpus().length} cores, ${cpus()[0]?.model}, Node ${process.version}\n`);
  const measured: Measured[] = [];
  const limits = await measureServer(server, Math.min(keysMax, 100_000));
  print(
    `The list server gives ${formatNumber(limits.pagesPerSecond)} pages a second to a client that reads no XML, ` +
      `and takes ${limits.cpuMsPerPage.toFixed(2)} ms of CPU time (of its own process) a page.\n`,
  );
  const processes = await startWarm(server, Math.min(keysMax, warming.keys));
  for (const condition of conditions) {
    const kept = { ...condition, keys: condition.keys.filter((keys) => keys <= keysMax) };
    const found = await measureCondition(server, kept, processes);
    printTable(print, `${condition.name}: median of the runs`, found);
    measured.push(...found);
  }
  for (const process of processes.values()) await process.end();
  const cold = await measureCold(server);
  printTable(
    print,
    `${quotaShare} of a core (${cold.means}), 100 ms, first scan of a new process`,
    cold.measured,
  );
  const memory = await measureMemory(server, keysMax);
  printTable(print, 'Peak memory: one scan in a new process, no latency', memory);
  const tools = await measureTools(server, keysMax);
  printTable(print, 'Other tools, their process started and ended each time, 100 ms', tools);
  await server.end();

  const result = {
    limits,
    quota: cold.means,
    measured: [...measured, ...cold.measured, ...memory, ...tools],
  };
  print(checkFigures(result.measured));
  print(`Chart: ${writeChart(measured.filter((row) => row.condition === '100 ms'))}`);
  return result;
}

/** One process for each subject, which has already scanned many times. */
async function startWarm(
  server: ListServerProcess,
  objects: number,
): Promise<ReadonlyMap<SubjectKind, SubjectProcess>> {
  const processes = new Map<SubjectKind, SubjectProcess>();
  for (const kind of all) processes.set(kind, await startSubject(kind, server.ready));
  await server.call('behave', { latencyMs: 0 });
  for (const process of processes.values()) {
    for (let turn = 0; turn < warming.turns; turn += 1)
      await process.call('run', { bucket: `n${objects}`, objects });
  }
  return processes;
}

async function measureCondition(
  server: ListServerProcess,
  condition: Condition,
  processes: ReadonlyMap<SubjectKind, SubjectProcess>,
): Promise<Measured[]> {
  const { latencyMs, latencySigma = 0 } = condition;
  const measured: Measured[] = [];
  for (const keys of condition.keys) {
    const samples = new Map<SubjectKind, Measured[]>();
    // The subjects alternate, so that other load on the machine affects all alike.
    for (let run = 0; run < condition.runs(keys); run += 1) {
      for (const [kind, process] of processes) {
        await server.call('behave', { latencyMs, latencySigma, seed: run + 1 });
        const sample = await measureOne(server, {
          kind,
          keys,
          run: (request) => process.call('run', request),
        });
        samples.set(kind, [
          ...(samples.get(kind) ?? []),
          { ...sample, condition: condition.name, latencyMs },
        ]);
      }
    }
    for (const taken of samples.values()) measured.push(middleOf(taken));
  }
  return measured;
}

/** The first request of a function with 256 MB: everything is loaded, but nothing is compiled yet. */
async function measureCold(server: ListServerProcess) {
  const quota = createCpuQuota(quotaShare);
  const latencyMs = 100;
  const measured: Measured[] = [];
  const condition = `${quotaShare} core`;
  const kinds = all.map((kind) => ({ kind, isWarmedUp: false }));
  const warmedUp = (['probe', 'sixteen', 'hint'] as const).map((kind) => ({ kind, isWarmedUp: true }));
  for (const { kind, isWarmedUp } of [...kinds, ...warmedUp]) {
    const taken: Measured[] = [];
    for (let run = 0; run < 5; run += 1) {
      const process = await startSubject(kind, server.ready, { isWarmedUp });
      await server.call('behave', { latencyMs });
      const one = {
        kind,
        keys: 4000,
        run: (request: RunRequest) => runWithin(quota, { subject: process, request }),
      };
      const sample = await measureOne(server, one);
      const subject = isWarmedUp ? `${kind}, warmed up` : kind;
      taken.push({ ...sample, subject, condition, latencyMs });
      await process.end();
    }
    measured.push(middleOf(taken));
  }
  quota.close();
  return { means: quota.means, measured };
}

async function measureMemory(server: ListServerProcess, keysMax: number): Promise<Measured[]> {
  const measured: Measured[] = [];
  for (const keys of [4000, 17_000, 100_000, 1_000_000].filter((count) => count <= keysMax)) {
    const kinds =
      keys > 100_000 ? (['probe', 'hint'] as const) : (['sdk', 'sdk-16', 'probe', 'hint'] as const);
    for (const kind of kinds) {
      const process = await startSubject(kind, server.ready);
      await server.call('behave', { latencyMs: 0 });
      const sample = await measureOne(server, { kind, keys, run: (request) => process.call('run', request) });
      measured.push({ ...sample, condition: 'memory', latencyMs: 0 });
      await process.end();
    }
  }
  return measured;
}

async function measureTools(server: ListServerProcess, keysMax: number): Promise<Measured[]> {
  const measured: Measured[] = [];
  const latencyMs = 100;
  for (const tool of installedTools()) {
    for (const keys of [4000, 17_000, 100_000].filter((count) => count <= keysMax)) {
      await server.call('behave', { latencyMs });
      const bucket = `n${keys}`;
      const { objects, bytes, wallMs, cpuMs } = await runTool(tool, { endpoint: server.ready, bucket });
      const { requests } = await server.call('stats');
      if (objects !== keys || bytes !== (await server.call('prepare', keys)))
        throw new Error(`${tool.name} counted wrong.`);
      const unknown = { rounds: undefined, peakMb: undefined };
      measured.push({
        subject: tool.name,
        condition: 'tool',
        latencyMs,
        keys,
        runs: 1,
        requests,
        wallMs,
        cpuMs,
        ...unknown,
      });
    }
  }
  return measured;
}

/** One run. Its count is checked: a fast wrong answer does not count. */
async function measureOne(
  server: ListServerProcess,
  input: { kind: SubjectKind; keys: number; run: (request: RunRequest) => Promise<RunResult> },
): Promise<Omit<Measured, 'condition' | 'latencyMs'>> {
  const { kind, keys } = input;
  const result = await input.run({ bucket: `n${keys}`, objects: keys });
  if (result.objects !== keys || result.bytes !== (await server.call('prepare', keys))) {
    throw new Error(`${kind} counted ${result.objects} objects of ${keys}, ${result.bytes} bytes.`);
  }
  const { requests } = await server.call('stats');
  const { rounds, wallMs, cpuMs, peakMb } = result;
  return { subject: kind, keys, runs: 1, requests, rounds, wallMs, cpuMs, peakMb };
}

function middleOf(taken: readonly Measured[]): Measured {
  const [first] = taken;
  if (!first) throw new Error('Nothing was measured.');
  const of = (value: (row: Measured) => number) => median(taken.map(value));
  return {
    ...first,
    runs: taken.length,
    requests: of((row) => row.requests),
    rounds: first.rounds === undefined ? undefined : of((row) => row.rounds ?? Number.NaN),
    wallMs: of((row) => row.wallMs),
    cpuMs: of((row) => row.cpuMs),
    peakMb: first.peakMb === undefined ? undefined : Math.max(...taken.map((row) => row.peakMb ?? 0)),
  };
}

function printTable(print: (text: string) => void, title: string, measured: readonly Measured[]): void {
  const rows = measured.map((row) => {
    const base = measured.find(({ subject, keys }) => subject === 'sdk' && keys === row.keys);
    return [
      row.subject,
      formatNumber(row.keys),
      formatNumber(row.requests),
      formatNumber(row.rounds),
      formatNumber(row.wallMs),
      base ? formatNumber(base.wallMs / row.wallMs) : '–',
      formatNumber(row.cpuMs),
      row.keys > 0 ? formatNumber((row.cpuMs / row.keys) * 1000) : '–',
      formatNumber(row.peakMb && Math.round(row.peakMb)),
      String(row.runs),
    ];
  });
  const header = [
    '',
    'keys',
    'requests',
    'rounds',
    'wall ms',
    '× faster',
    'CPU ms',
    'CPU s/M keys',
    'peak MB',
    'runs',
  ];
  print(`${title}\n${formatTable(header, rows)}\n`);
}
