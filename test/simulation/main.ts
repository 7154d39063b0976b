import { fork } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { cpus } from 'node:os';
import { parseArgs } from 'node:util';
import type { Mix } from './actor.ts';
import { subjectFocuses } from './focuses.ts';
import { type Focus, mixesOf, runSeed, focuses as scenarioFocuses, shrink } from './seeds.ts';

/**
 * `npm run simulate -- --seeds N [--seed S] [--jobs J] [--json FILE] [--focus FOCUS]`: runs N scenarios, beginning
 * with seed S, in J processes. Each runs with one of the mixes of faults. The first one that fails is shrunk and printed.
 * Its seed replays it.
 */
const focuses: readonly string[] = [...scenarioFocuses, ...Object.keys(subjectFocuses)];

interface Share {
  readonly from: number;
  readonly count: number;
  readonly step: number;
  readonly focus: string;
}

interface Report {
  readonly done: number;
  readonly totals: Record<string, number>;
  readonly failures: readonly { seed: number; error: string }[];
}

const reportEverySeeds = 50;

async function work(share: Share, report: (report: Report) => void): Promise<void> {
  const { run: runOne } = await focusOf(share.focus);
  let totals: Record<string, number> = {};
  let failures: { seed: number; error: string }[] = [];
  let done = 0;
  for (let run = 0; run < share.count; run += 1) {
    const seed = share.from + run * share.step;
    try {
      for (const [name, count] of Object.entries(await runOne(seed)))
        totals[name] = (totals[name] ?? 0) + count;
    } catch (error) {
      failures.push({ seed, error: String(error) });
    }
    done += 1;
    if (done < reportEverySeeds && run < share.count - 1) continue;
    report({ done, totals, failures });
    totals = {};
    failures = [];
    done = 0;
  }
}

async function focusOf(
  name: string,
): Promise<{ run: (seed: number) => Promise<object>; mixes: readonly Mix[] }> {
  const focus = name as Focus;
  return subjectFocuses[name]?.() ?? { run: (seed) => runSeed(seed, { focus }), mixes: mixesOf(focus) };
}

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      seeds: { type: 'string', default: '2000' },
      seed: { type: 'string', default: '0' },
      jobs: { type: 'string', default: String(cpus().length) },
      json: { type: 'string' },
      focus: { type: 'string', default: 'everything' },
    },
  });
  const [seeds, first] = [Number(values.seeds), Number(values.seed)];
  const focus = focuses.find((each) => each === values.focus);
  if (focus === undefined) {
    process.stderr.write(`simulate: --focus takes one of ${focuses.join(', ')}\n`);
    process.exit(2);
  }
  if (!Number.isInteger(seeds) || seeds < 1 || !Number.isInteger(first) || first < 0) {
    process.stderr.write('simulate: --seeds takes a whole number from 1, --seed one from 0\n');
    process.exit(2);
  }
  const jobs = Math.max(1, Math.min(Number(values.jobs) || 1, seeds));
  const beganMs = Date.now();
  const totals: Record<string, number> = {};
  const failures: { seed: number; error: string }[] = [];
  let done = 0;
  const take = (report: Report) => {
    done += report.done;
    failures.push(...report.failures);
    for (const [name, count] of Object.entries(report.totals)) totals[name] = (totals[name] ?? 0) + count;
    const rate = done / ((Date.now() - beganMs) / 1000);
    const left = Math.round((seeds - done) / rate);
    const line = `${done} of ${seeds} seeds, ${rate.toFixed(0)} a second, ${left} s left, ${failures.length} violations`;
    if (process.stderr.isTTY) process.stderr.write(`\r${line}  `);
    else if (done % 10_000 < report.done) process.stderr.write(`${line}\n`);
  };
  await Promise.all(
    Array.from({ length: jobs }, (_, job) => {
      const count = Math.ceil((seeds - job) / jobs);
      return inProcess({ from: first + job, count, step: jobs, focus }, take);
    }),
  );
  const summary = {
    date: new Date().toISOString(),
    first,
    seeds,
    seconds: (Date.now() - beganMs) / 1000,
    totals,
    failures,
  };
  if (values.json) writeFileSync(values.json, `${JSON.stringify(summary, null, 2)}\n`);
  print(summary, (await focusOf(focus)).mixes);
  const worst = failures[0];
  if (worst) {
    for (const { seed, error } of failures.slice(0, 20)) process.stdout.write(`  seed ${seed}: ${error}\n`);
    if (!(focus in subjectFocuses)) {
      process.stdout.write(`\nShrinking seed ${worst.seed} …\n`);
      process.stdout.write(`${JSON.stringify(await shrink(worst.seed, focus as Focus), null, 2)}\n`);
    }
    const replay = `npm run simulate -- --seed ${worst.seed} --seeds 1`;
    process.stdout.write(`Replay: ${replay}${focus === 'everything' ? '' : ` --focus ${focus}`}\n`);
    process.exit(1);
  }
}

function inProcess(share: Share, take: (report: Report) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const child = fork(new URL(import.meta.url), ['--worker', JSON.stringify(share)], {
      execArgv: process.execArgv,
    });
    child.on('message', (report) => take(report as Report));
    child.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`A worker ended with ${code}.`))));
  });
}

function print(
  summary: {
    seeds: number;
    seconds: number;
    totals: Record<string, number>;
    failures: readonly unknown[];
  },
  mixes: readonly Mix[],
): void {
  const { seeds, seconds, totals, failures } = summary;
  process.stdout.write(
    `\n${seeds} seeds in ${seconds.toFixed(0)} s, in ${mixes.length} mixes: ${mixes.map(({ name }) => name).join('; ')}\n`,
  );
  for (const [name, count] of Object.entries(totals)) process.stdout.write(`  ${name.padEnd(12)} ${count}\n`);
  process.stdout.write(`  ${'violations'.padEnd(12)} ${failures.length}\n`);
}

if (process.argv[2] === '--worker') {
  const share = JSON.parse(process.argv[3] ?? '{}') as Share;
  await work(share, (report) => process.send?.(report));
  process.disconnect?.();
} else {
  await main();
}
