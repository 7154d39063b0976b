import { type QueueName, queueSpecs } from '../../lambda/routes.ts';
import { type DeploymentSettings, usualConcurrency } from './deployment-settings.ts';

/** Lambda runs a queue by two or more. */
const least = 2;

type Workers = Partial<Readonly<Record<QueueName, number>>>;

/** The queues that a stage has, and how many functions at once receive from each. */
export function workersOf(settings: DeploymentSettings): Workers {
  const { accountConcurrency, reconcile, exports, chunkWorkers, copyWorkers } = settings;
  const { email, gitHosts, storeEvents } = settings;
  const part = Math.min(1, accountConcurrency / usualConcurrency);
  const or = (given: number | undefined, name: QueueName) =>
    given ?? Math.max(least, Math.floor((queueSpecs[name].usualWorkers ?? 0) * part));
  const all: Readonly<Record<string, number>> = {
    reconciles: or(reconcile.concurrency, 'reconciles'),
    webhooks: least,
    chunks: or(chunkWorkers, 'chunks'),
    ...(email && { emails: least }),
    ...(exports.workers !== 0 && { exports: or(exports.workers, 'exports') }),
    ...(gitHosts.length > 0 && { copies: or(copyWorkers, 'copies') }),
    ...(storeEvents && { 'store-events': least }),
  };
  return Object.fromEntries(Object.entries(all).filter(([name]) => name in queueSpecs)) as Workers;
}

/** Functions that may run at once without a request: those, and the schedule's. */
export const backgroundFunctionsOf = (settings: DeploymentSettings): number =>
  Object.values(workersOf(settings)).reduce((sum, count) => sum + count, 1);

/** Why the account's functions are too few. undefined: they are enough. */
export function concurrencyConflict(settings: DeploymentSettings): string | undefined {
  const { accountConcurrency, reservedConcurrency } = settings;
  // A tenth is for requests. The reserved ones are for pushes alone.
  const free = accountConcurrency - (reservedConcurrency.lfsBatch ?? 0) - Math.ceil(accountConcurrency / 10);
  const busy = backgroundFunctionsOf(settings);
  if (busy <= free) return undefined;
  const kinds = Object.entries(workersOf(settings)).map(([name, count]) => `${name} ${count}`);
  return (
    `leaves too few functions to the API: the schedule and work in the background (${kinds.join(', ')}) can take ${busy}, and must take ${free} or less. ` +
    "Set it to your account's limit, ask AWS for a higher one, or set fewer workers (exports.workers 0 disables exports) or a lower reservedConcurrency.lfsBatch"
  );
}
