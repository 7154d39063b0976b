import { parseArgs } from 'node:util';
import { byteCost } from './byte-cost.ts';
import { monthlyCost } from './monthly-cost.ts';
import { type Cost, totalOf } from './operation-cost.ts';
import { helpOf, UsageError, wholeNumber } from './options.ts';
import { pricesAsOf } from './prices.ts';
import { formatNumber, formatTable } from './tables.ts';
import { defaultWorkload, type Workload } from './workload.ts';

const options = {
  tenants: { type: 'string', help: 'number of tenants' },
  pushes: { type: 'string', help: 'pushes per tenant and month' },
  'objects-per-push': { type: 'string', help: 'new objects per push' },
  'object-mb': { type: 'string', help: 'size of an object in MiB; also prints the bytes stored and moved' },
  'push-seconds': { type: 'string', help: 'duration of a push' },
  fetches: { type: 'string', help: 'fetches per tenant and month' },
  'objects-per-fetch': { type: 'string', help: 'objects per fetch' },
  objects: { type: 'string', help: 'objects per tenant' },
  repos: { type: 'string', help: 'repos per tenant' },
  reads: { type: 'string', help: 'reads of the usage by the console, per tenant and month' },
  'clean-ups': { type: 'string', help: 'clean-ups (gc) per tenant and month' },
  gone: { type: 'string', help: 'objects that a clean-up deletes' },
  'by-people': { type: 'string', help: 'percent of pushes and fetches with a token for a git host' },
  'refresh-minutes': { type: 'string', help: 'minutes between two runs of the schedule' },
  'max-age-hours': { type: 'string', help: 'hours between two full counts of a tenant in use' },
  'idle-max-days': { type: 'string', help: 'days between two full counts of an idle tenant, at most' },
  'rest-seconds': { type: 'string', help: 'seconds between two recounts that nobody waits for' },
  'list-requests-per-hour': { type: 'string', help: 'budget of a tenant for LIST requests' },
  'refresh-tenants': { type: 'string', help: 'tenants that one run of the schedule queues' },
  'store-events': { type: 'boolean', help: 'the store sends an event for every upload' },
  store: { type: 'string', help: 's3 or r2 (default: s3)' },
  help: { type: 'boolean', help: 'show this help' },
} as const;

type Values = ReturnType<typeof parse>;
type NumberOption = Exclude<keyof Values, 'help' | 'store' | 'store-events'>;
const atLeastOne: readonly NumberOption[] = [
  ...(['repos', 'refresh-minutes', 'max-age-hours', 'idle-max-days'] as const),
  ...(['list-requests-per-hour', 'refresh-tenants'] as const),
];

function parse(args: readonly string[]) {
  return parseArgs({ args: [...args], options, strict: true }).values;
}

function numberOf(values: Values, name: NumberOption, otherwise: number): number {
  const least = atLeastOne.includes(name) ? 1 : 0;
  return wholeNumber(`--${name}`, values[name], { least, otherwise });
}

function percentOf(values: Values, name: NumberOption, otherwise: number): number {
  const percent = numberOf(values, name, otherwise);
  if (percent > 100) throw new UsageError(`--${name} must be 100 at most. It is "${values[name]}".`);
  return percent;
}

function workloadOf(values: Values): Workload {
  const of = defaultWorkload;
  return {
    tenants: numberOf(values, 'tenants', of.tenants),
    pushesPerTenant: numberOf(values, 'pushes', of.pushesPerTenant),
    objectsPerPush: numberOf(values, 'objects-per-push', of.objectsPerPush),
    objectMb: numberOf(values, 'object-mb', of.objectMb),
    pushSeconds: numberOf(values, 'push-seconds', of.pushSeconds),
    fetchesPerTenant: numberOf(values, 'fetches', of.fetchesPerTenant),
    objectsPerFetch: numberOf(values, 'objects-per-fetch', of.objectsPerFetch),
    objectsPerTenant: numberOf(values, 'objects', of.objectsPerTenant),
    reposPerTenant: numberOf(values, 'repos', of.reposPerTenant),
    readsPerTenant: numberOf(values, 'reads', of.readsPerTenant),
    cleanUpsPerTenant: numberOf(values, 'clean-ups', of.cleanUpsPerTenant),
    objectsPerCleanUp: numberOf(values, 'gone', of.objectsPerCleanUp),
    byPeoplePercent: percentOf(values, 'by-people', of.byPeoplePercent),
    refresh: {
      everyMinutes: numberOf(values, 'refresh-minutes', of.refresh.everyMinutes),
      tenantsPerRunMax: numberOf(values, 'refresh-tenants', of.refresh.tenantsPerRunMax),
      maxAgeHours: numberOf(values, 'max-age-hours', of.refresh.maxAgeHours),
      idleMaxHours: 24 * numberOf(values, 'idle-max-days', of.refresh.idleMaxHours / 24),
      restSeconds: numberOf(values, 'rest-seconds', of.refresh.restSeconds),
      listRequestsPerHour: numberOf(values, 'list-requests-per-hour', of.refresh.listRequestsPerHour),
    },
    storeEvents: values['store-events'] ?? of.storeEvents,
  };
}

const services = ['store', 'table', 'functions', 'api', 'queue', 'logs', 'fixed'] as const;
const dollars = (value: number) => value.toFixed(2).replace(/\B(?=(\d{3})+(?!\d))/g, ',');
const cells = (cost: Cost) => [...services.map((service) => dollars(cost[service])), dollars(totalOf(cost))];

function printOne(workload: Workload, store: 's3' | 'r2', print: (text: string) => void): void {
  const { lines, total } = monthlyCost(workload, { store });
  const rows = lines
    .filter((line) => totalOf(line.cost) > 0)
    .map((line) => [line.what, formatNumber(Math.round(line.timesPerMonth)), ...cells(line.cost)]);
  const header = ['dollars a month', 'times', ...services, 'total'];
  print(formatTable(header, [...rows, ['total', '', ...cells(total)]]));
}

function printSizes(workloads: readonly Workload[], store: 's3' | 'r2', print: (text: string) => void): void {
  const rows = workloads.map((workload) => {
    const { tenants } = workload;
    const { total } = monthlyCost(workload, { store });
    return [`${formatNumber(tenants)} tenants`, ...cells(total), (totalOf(total) / tenants).toFixed(4)];
  });
  print(formatTable(['dollars a month', ...services, 'total', 'a tenant'], rows));
}

/** What is stored and fetched, on both stores. */
function printBytes(workloads: readonly Workload[], print: (text: string) => void): void {
  const rows = workloads.flatMap((of) =>
    (['s3', 'r2'] as const).map((store) => {
      const { storedGb, fetchedGb, stored, fetched } = byteCost(of, store);
      const requests = totalOf(monthlyCost(of, { store }).total);
      return [
        `${formatNumber(of.tenants)} tenants on ${store === 's3' ? 'S3' : 'R2'}`,
        ...[storedGb, fetchedGb].map((gb) => formatNumber(Math.round(gb))),
        ...[stored, fetched, requests, stored + fetched + requests].map(dollars),
      ];
    }),
  );
  const header = ['dollars a month', 'GB stored', 'GB fetched', 'stored', 'fetched', 'requests', 'total'];
  print(`\nWith the bytes of objects of ${workloads[0]?.objectMb} MiB, fetched over the internet:\n`);
  print(formatTable(header, rows));
}

/**
 * Prints what a workload costs per month: `npm run -s cost -- --tenants 1000`. Without `--tenants` for 10, 1,000 and
 * 100,000 tenants.
 *
 * @throws {UsageError} or what `parseArgs` throws.
 */
export function printMonth(args: readonly string[], print: (text: string) => void): void {
  const values = parse(args);
  if (values.help) {
    print(
      `npm run -s cost -- [options]\n${helpOf(options)}\nnpm run -s cost -- scan --help   for counts of giants`,
    );
    return;
  }
  const { store = 's3' } = values;
  if (store !== 's3' && store !== 'r2') throw new UsageError(`--store must be s3 or r2. It is "${store}".`);
  const workload = workloadOf(values);
  print(
    `Requests on ${store === 's3' ? 'S3' : 'R2'}, prices of ${pricesAsOf}: recheck them before quoting.\n`,
  );
  const isOne = values.tenants !== undefined;
  const workloads = isOne ? [workload] : [10, 1000, 100_000].map((tenants) => ({ ...workload, tenants }));
  if (isOne) printOne(workload, store, print);
  else printSizes(workloads, store, print);
  if (values['object-mb'] !== undefined) printBytes(workloads, print);
}
