import { type QueueName, queueNames, queueSpecs } from '../../lambda/routes.ts';
import { type DeploymentSettings, usualConcurrency } from './deployment-settings.ts';

/** Lambda runs a queue by two or more. */
const least = 2;

/** The queues that a stage has, and how many functions at once receive from each. */
export function workersOf(settings: DeploymentSettings): Partial<Readonly<Record<QueueName, number>>> {
  const part = Math.min(1, settings.accountConcurrency / usualConcurrency);
  const at = (path: string) =>
    path.split('.').reduce<unknown>((of, name) => Reflect.get(Object(of), name), settings);
  const isOff = (setting: unknown) => !setting || (Array.isArray(setting) && setting.length === 0);
  return Object.fromEntries(
    queueNames.flatMap((name) => {
      const { workersIn, onlyWith, usualWorkers = 0 } = queueSpecs[name];
      const given = workersIn === undefined ? undefined : (at(workersIn) as number | undefined);
      if (given === 0 || (onlyWith !== undefined && isOff(at(onlyWith)))) return [];
      return [[name, given ?? Math.max(least, Math.floor(usualWorkers * part))]];
    }),
  );
}

/** Functions that may run at once without a request: those, and the schedule's. */
export const backgroundFunctionsOf = (settings: DeploymentSettings): number =>
  Object.values(workersOf(settings)).reduce((sum, count) => sum + count, 1);

/** Why the account's functions are too few. undefined: they are enough. */
export function concurrencyConflict(settings: DeploymentSettings): string | undefined {
  const { accountConcurrency, reservedConcurrency } = settings;
  // A tenth is for requests. The reserved ones are for pushes alone.
  const reserved = Object.values(reservedConcurrency).reduce<number>((sum, count) => sum + (count ?? 0), 0);
  const free = accountConcurrency - reserved - Math.ceil(accountConcurrency / 10);
  const busy = backgroundFunctionsOf(settings);
  if (busy <= free) return undefined;
  const kinds = Object.entries(workersOf(settings)).map(([name, count]) => `${name} ${count}`);
  return (
    `leaves too few functions to the API: the schedule and work in the background (${kinds.join(', ')}) can take ${busy}, and must take ${free} or less. ` +
    "Set it to your account's limit, ask AWS for a higher one, or set fewer workers (exports.workers 0 disables exports) or a lower reservedConcurrency"
  );
}
