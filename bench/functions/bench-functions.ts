import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import { formatNumber, formatTable } from '../../cost/tables.ts';
import type { FunctionName } from '../../lambda/routes.ts';
import { BackendProcess } from './backend-process.ts';
import { latenciesMs } from './backend-server.ts';
import { type Bundle, bundleFunctions } from './bundles.ts';
import { cases } from './cases.ts';
import { type Choice, chooseMemory, rule } from './choose-memory.ts';
import { buildRunner } from './function-process.ts';
import {
  type MeasuredStart,
  type MeasuredWork,
  measureStart,
  measureWork,
  type Plan,
  periodMs,
} from './measure.ts';

type Print = (text: string) => void;

const memorySizesMb = [128, 256, 512, 1024, 1769] as const;

/** The options of the benchmark's command line. */
function parsed(options: readonly string[]) {
  const { values } = parseArgs({
    args: [...options],
    options: {
      node: { type: 'string', default: process.execPath },
      only: { type: 'string' },
      memory: { type: 'string', default: memorySizesMb.join(',') },
      processes: { type: 'string', default: '2' },
      'warm-calls': { type: 'string', default: '4' },
      starts: { type: 'string', default: '9' },
    },
  });
  return {
    node: values.node,
    only: values.only?.split(','),
    memory: values.memory.split(',').map(Number),
    processes: Number(values.processes),
    warmCalls: Number(values['warm-calls']),
    starts: Number(values.starts),
  };
}

/**
 * Measures size, start and work of each function as it is deployed, and chooses its memory.
 *
 * Options: `--node=PATH` (the Node that runs the functions), `--only=lfsBatch,reconcile`, `--memory=512,1024`,
 * `--starts=N`, `--processes=N`, `--warm-calls=N`.
 */
export async function benchFunctions(print: Print, options: readonly string[]): Promise<unknown> {
  const { node, only, memory, processes, warmCalls, starts: startsEach } = parsed(options);
  await buildRunner();
  const bundles = bundleFunctions();
  const backend = await BackendProcess.start();
  try {
    const chosen = bundles.all.filter(({ name }) => only === undefined || only.includes(name));
    const bundleOf = (name: FunctionName) => bundles.all.find((bundle) => bundle.name === name)?.file ?? '';
    const plan: Plan = { node, bundleOf, backend, processes, warmCalls };
    const version = execFileSync(node, ['--version'], { encoding: 'utf8' }).trim();
    print(`${cpus().length} cores, ${cpus()[0]?.model}; the functions run on Node ${version}\n`);
    const starts: MeasuredStart[] = [];
    for (const { name } of chosen) starts.push(await measureStart(plan, { name, processes: startsEach }));
    printStarts(print, { bundles: chosen, starts });
    const measured: MeasuredWork[] = [];
    for (const work of cases.filter((each) => chosen.some(({ name }) => name === each.function))) {
      for (const memoryMb of memory) {
        const row = await measureWork(plan, work, memoryMb);
        if (row) measured.push(row);
        else print(`${work.function}: ${work.name} did not survive with ${memoryMb} MB.\n`);
      }
    }
    printWork(print, measured);
    const choices = chosen.flatMap(({ name }) => chooseMemory(name, measured) ?? []);
    printChoices(print, choices);
    const sizes = chosen.map(({ file: _, ...size }) => size);
    return { functionsNode: version, latenciesMs, periodMs, rule, sizes, starts, measured, choices };
  } finally {
    await backend.end();
    bundles.remove();
  }
}

function printStarts(
  print: Print,
  { bundles, starts }: { bundles: readonly Bundle[]; starts: readonly MeasuredStart[] },
): void {
  const rows = bundles.map(({ name, bytes, gzippedBytes, mapBytes }) => {
    const start = starts.find((each) => each.function === name);
    const times = [start?.nodeMs, start?.loadMs, start?.composeMs, start?.prepareMs, start?.totalMs];
    return [
      name,
      ...[bytes, gzippedBytes, mapBytes].map((size) => (size / 1000).toFixed(1)),
      ...times.map((ms) => (ms ?? Number.NaN).toFixed(ms !== undefined && ms < 10 ? 1 : 0)),
      formatNumber(Math.round(start?.peakMb ?? Number.NaN)),
    ];
  });
  const header = ['', 'kB', 'gzipped', 'map', 'Node ms', 'load', 'compose', 'warm-up', 'total', 'MB'];
  print(`Bundles as deployed, and starts with a full core (median of ${starts[0]?.processes})`);
  print(`${formatTable(header, rows)}\n`);
  const most = bundles.reduce((a, b) => (b.bytes > a.bytes ? b : a));
  const shares = most.packages.slice(0, 12).map(({ name, bytes }) => [name, (bytes / 1000).toFixed(1)]);
  print(`What the largest, ${most.name}, is made of\n${formatTable(['', 'kB'], shares)}\n`);
}

function printWork(print: Print, measured: readonly MeasuredWork[]): void {
  const means = measured[0]?.means;
  const rows = measured.map((work) => [
    `${work.function}: ${work.case}`,
    formatNumber(work.memoryMb),
    ...[work.coldMs, work.coldCpuMs, work.warmMs, work.warmCpuMs].map((ms) => ms.toFixed(ms < 10 ? 1 : 0)),
    formatNumber(Math.round(work.peakMb)),
    work.dollarsPerMillion.toFixed(2),
  ]);
  const header = ['', 'memory', 'first ms', 'CPU', 'warm ms', 'CPU', 'peak MB', '$ a million'];
  print(`Work by memory (CPU: ${means?.cpu}; memory: ${means?.memory}, and so on)`);
  print(`${formatTable(header, rows)}\n`);
}

function printChoices(print: Print, choices: readonly Choice[]): void {
  for (const { function: name, memoryMb, others } of choices) {
    const why = others.map((other) => `${other.memoryMb}: ${other.why}`).join('; ');
    print(`${name}: ${memoryMb} MB (${why})`);
  }
  print('');
}
