import { cloudPrices, r2Prices, s3Prices } from '../../cost/prices.ts';
import { formatDollars, formatNumber, formatTable } from '../../cost/tables.ts';
import { type Explained, type ExportPrices, explainExport } from '../../lambda/domain/export/explain.ts';
import { quickestSettings } from '../../lambda/domain/export/plan-settings.ts';
import { r2Limits, s3Limits } from '../../lambda/domain/export/store-limits.ts';
import { Child } from '../child/child.ts';
import { mean } from '../statistics.ts';
import { benchInput, percentAsGiven, throughOf } from './measure.ts';
import { makeObjects, type ObjectSet, objectSets } from './object-sets.ts';
import type { Planning, PlanProcess } from './plan-process.ts';

type Print = (text: string) => void;

const mebibyte = 1024 ** 2;
const seeds = Array.from({ length: 10 }, (_, index) => index + 1);
const objectsInSet = 3000;
const cellsMiB = [5, 8, 16, 64];

/** How much of an archive goes through workers, what that costs beside streaming, and what it takes to plan it. */
export async function benchExport(print: Print): Promise<unknown> {
  const through = objectSets.map((set) => measureSet(set));
  printThrough(print, through);
  const ways = printWays(print);
  const planning = await measurePlanning(print);
  return { through, ways, planning };
}

function measureSet(set: ObjectSet) {
  const lists = seeds.map((seed) => makeObjects(set, { count: objectsInSet, seed }));
  const meansOf = (settings: Parameters<typeof throughOf>[1]) => {
    const measured = lists.map((objects) => throughOf(objects, settings));
    return {
      percent: mean(measured.map(({ percent }) => percent)),
      boundPercent: mean(measured.map(({ boundPercent }) => boundPercent)),
    };
  };
  return {
    name: set.name,
    free: meansOf(quickestSettings(s3Limits)),
    grids: cellsMiB.map((cellMiB) => {
      const cellBytes = cellMiB * mebibyte;
      const asGiven = mean(lists.map((objects) => percentAsGiven(objects, cellBytes)));
      return { cellMiB, asGiven, ...meansOf({ ...quickestSettings(r2Limits), cellBytes }) };
    }),
  };
}

function printThrough(print: Print, measured: readonly ReturnType<typeof measureSet>[]): void {
  const percent = (value: number) => value.toFixed(value < 99.95 ? 2 : 0);
  const rows = measured.flatMap(({ name, free, grids }) => [
    [name, 'free parts', '', percent(free.percent), percent(free.boundPercent)],
    ...grids.map((grid) => [
      '',
      `grid of ${grid.cellMiB} MiB`,
      percent(grid.asGiven),
      percent(grid.percent),
      percent(grid.boundPercent),
    ]),
  ]);
  const header = ['% through workers', 'parts', 'as listed', 'ordered', 'bound'];
  print(`${formatTable(header, rows)}\n`);
}

/** A worker of 1 GB in Lambda: 600 Mbit/s. The time of a request is an assumption. */
const pace = { workers: 16, bytesPerSecond: 75e6, requestSeconds: 0.1, requestsAtOnce: 64 };
const workerSecond = cloudPrices.lambdaGbSecondArm64;
const stores: readonly { name: string; limits: typeof s3Limits; prices: ExportPrices }[] = [
  {
    name: 'S3',
    limits: s3Limits,
    prices: { write: s3Prices.putOrList, read: s3Prices.getOrHead, gbToStore: 0, workerSecond },
  },
  {
    name: 'R2',
    limits: r2Limits,
    // What leaves Lambda for a store outside is billed as bytes to the internet.
    prices: {
      write: r2Prices.putOrList,
      read: r2Prices.getOrHead,
      gbToStore: s3Prices.gbToInternet,
      workerSecond,
    },
  },
];

const megabyte = 1e6;
const cases = [
  { count: 3000, megabytes: 5, spread: 0.2 },
  { count: 1_000_000, megabytes: 0.1, spread: 0 },
  { count: 10_000, megabytes: 70, spread: 0.2 },
  { count: 100, megabytes: 2000, spread: 0.2 },
];

function printWays(print: Print) {
  const explained = cases.flatMap(({ count, megabytes, spread }) => {
    const sizes: ObjectSet = {
      name: `${formatNumber(count)} × ${megabytes} MB`,
      sizeOf: (random) => Math.round(megabytes * megabyte * (1 + spread * (2 * random.next() - 1))),
    };
    const objects = makeObjects(sizes, { count, seed: 1 });
    return stores.map(({ name, limits, prices }) => {
      const ways = explainExport({ objects, ...benchInput }, quickestSettings(limits), { prices, pace });
      return { name: `${name} ${sizes.name}`, ways };
    });
  });
  const rows = explained.flatMap(({ name, ways }) => ways.map((way) => [name, ...cellsOf(way)]));
  print(
    `${formatTable(['16 workers', 'way', '% through', 'requests', 'dollars', 'worker s', 'seconds'], rows)}\n`,
  );
  return explained;
}

function cellsOf(way: Explained): string[] {
  if (way.kind !== 'possible') return [way.way, '–', '–', '–', '–', '–'];
  return [
    way.way,
    ((100 * way.throughBytes) / way.archiveBytes).toFixed(1),
    formatNumber(way.requests),
    formatDollars(way.dollars),
    formatNumber(Math.round(way.seconds * pace.workers)),
    formatNumber(way.seconds),
  ];
}

async function measurePlanning(print: Print) {
  const runs: (Planning & { count: number; store: string; round: string })[] = [];
  for (const store of ['s3', 'r2'] as const) {
    for (const { count, rounds, round } of [
      { count: objectsInSet, rounds: 1, round: 'first' },
      { count: objectsInSet, rounds: 10, round: 'tenth' },
      { count: 1_000_000, rounds: 1, round: 'first' },
    ]) {
      const child: PlanProcess = await Child.fork(new URL('plan-process.ts', import.meta.url));
      runs.push({ store, count, round, ...(await child.call('plan', { count, store, rounds })) });
      await child.end();
    }
  }
  const rows = runs.map(({ store, count, round, wallMs, cpuMs, peakMb, listMb }) => [
    store === 's3' ? 'free parts' : 'grid of 5 MiB',
    formatNumber(count),
    round,
    ...[cpuMs, wallMs, listMb, peakMb].map((value) => formatNumber(Math.round(value))),
  ]);
  print(`${formatTable(['planning', 'objects', 'plan', 'CPU ms', 'wall ms', 'list MB', 'peak MB'], rows)}\n`);
  return runs;
}
