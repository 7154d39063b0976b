import { parseArgs } from 'node:util';
import { costOf, type Operation, operations, totalOf } from '../../cost/operations.ts';
import { cloudPrices } from '../../cost/prices.ts';
import { formatDuration, formatNumber, formatTable } from '../../cost/tables.ts';
import { defaultSettings } from '../../lambda/domain/settings.ts';
import { Stage } from './stage.ts';
import { kinds, worksOf } from './tenants.ts';

const minutesPerDay = 24 * 60;
/** The queue takes ten messages in one request. */
const messagesPerSend = 10;

function wholeOption(name: string, text: string | undefined, otherwise: number): number {
  const value = text === undefined ? otherwise : Number(text);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new Error(`--${name} must be a whole number above 0. It is "${text}".`);
}

/** A million tenants for thirty days: how long whoever is due waits, and what it costs. */
export async function benchRefresh(print: (text: string) => void, args: readonly string[]) {
  const options = {
    tenants: { type: 'string' },
    days: { type: 'string' },
    'refresh-tenants': { type: 'string' },
    concurrency: { type: 'string' },
  } as const;
  const { values } = parseArgs({ args: [...args], options, strict: true });
  const tenants = wholeOption('tenants', values.tenants, 1_000_000);
  const days = wholeOption('days', values.days, 30);
  const refreshTenantsMax = wholeOption('refresh-tenants', values['refresh-tenants'], 1200);
  const concurrency = wholeOption('concurrency', values.concurrency, 20);
  const began = performance.now();
  const settings = { ...defaultSettings, refreshTenantsMax };
  const stage = new Stage({ tenants, concurrency, settings, beganMs: 1_800_000_000_000 });
  let megabytes = 0;
  for (let minute = 1; minute <= days * minutesPerDay; minute += 1) {
    await stage.minute();
    if (minute % minutesPerDay !== 0) continue;
    megabytes = Math.max(megabytes, process.memoryUsage().rss / 1e6);
  }
  const result = resultOf(stage, days);
  print(
    `${formatNumber(tenants)} tenants, ${days} days, at most ${refreshTenantsMax} a run, ${concurrency} functions\n`,
  );
  print(formatTable(['', ''], rowsOf(result)));
  const seconds = (performance.now() - began) / 1000;
  print(`\n${formatDuration(seconds)}, ${formatNumber(Math.round(megabytes))} MB`);
  return { tenants, days, refreshTenantsMax, concurrency, ...result, seconds, megabytes };
}

type Result = ReturnType<typeof resultOf>;

function resultOf(stage: Stage, days: number) {
  const { tally, waits } = stage;
  const waited = (of: 'handed' | 'counted') => [0.5, 0.99, 1].map((share) => waits[of].seconds(share));
  const overdue = stage.overdue();
  const perKind = kinds.map((kind, number) => {
    const works = worksOf(kind);
    const times = {
      full: tally.full[number] ?? 0,
      dead: tally.dead[number] ?? 0,
      push: tally.push[number] ?? 0,
    };
    const of = (name: 'full' | 'dead' | 'push') => ({
      lists: times[name] * works[name].lists,
      dollars: times[name] * dollarsOf(works[name].operation),
    });
    return { kind: kind.name, times, full: of('full'), dead: of('dead'), push: of('push') };
  });
  const sum = (pick: (of: (typeof perKind)[number]) => number) =>
    perKind.reduce((total, of) => total + pick(of), 0);
  return {
    pushes: tally.pushes,
    runs: tally.runs,
    queued: tally.queued,
    queuedPerDay: tally.queued / days,
    deferred: tally.deferred,
    inVain: tally.inVain,
    longestQueue: tally.longestQueue,
    handedSeconds: waited('handed'),
    countedSeconds: waited('counted'),
    stillDue: overdue.count,
    longestDueSeconds: overdue.longestMs / 1000,
    perKind,
    lists: sum((of) => of.full.lists + of.dead.lists),
    dollars: {
      runs:
        tally.runs * dollarsOf(operations.schedule) +
        (tally.queued / messagesPerSend) * cloudPrices.fifoQueueRequest,
      recounts: sum((of) => of.full.dollars + of.dead.dollars),
      deferred: tally.deferred * dollarsOf(operations.recountDeferred),
      pushes: sum((of) => of.push.dollars),
    },
  };
}

function dollarsOf(operation: Operation): number {
  return totalOf(costOf(operation, 's3'));
}

function rowsOf(result: Result): string[][] {
  const { dollars } = result;
  const seconds = (all: readonly number[]) => all.map(formatDuration).join(' / ');
  const dollar = (value: number) => formatNumber(Math.round(value));
  return [
    ['handed on', formatNumber(result.queued)],
    ['... a day', formatNumber(Math.round(result.queuedPerDay))],
    ['... in vain', formatNumber(result.inVain)],
    ['... and deferred', formatNumber(result.deferred)],
    ['from due to handed on: half, 99 %, longest', seconds(result.handedSeconds)],
    ['from due to counted: half, 99 %, longest', seconds(result.countedSeconds)],
    ['due at the end', formatNumber(result.stillDue)],
    ['... the longest for', formatDuration(result.longestDueSeconds)],
    ['most messages that waited', formatNumber(result.longestQueue)],
    ['LISTs of the schedule', formatNumber(result.lists)],
    ['$ runs of the schedule', dollar(dollars.runs)],
    ['$ their recounts', dollar(dollars.recounts)],
    ['$ deferred', dollar(dollars.deferred)],
    ['$ recounts of pushes, beside', dollar(dollars.pushes)],
  ];
}
