import { type DeletePlanBody, deletePlanSchema } from '../lambda/api/contract/deletes.ts';
import { formatBytes } from '../lambda/domain/bytes.ts';
import type { ApiClient } from './api-client.ts';
import type { CliContext } from './context.ts';
import { CliError } from './errors.ts';
import { formatObjects, formatUntil } from './render.ts';
import { WaitLine } from './wait-line.ts';

const redrawMs = 1000;
/** How often it is asked whether an object is still there, and marked: before it is due, */
const lookMs = 60_000;
/** and from then on. */
const dueLookMs = 10_000;

/** An object that is marked for deletion. */
export interface MarkedObject {
  readonly oid: string;
  /** Of its delete: with `?dryRun=true` it says whether the object is there, and when it is due. */
  readonly path: string;
  readonly plan: DeletePlanBody;
}

/** What the last look at it found. */
interface Going extends MarkedObject {
  /** It was due later than by the look before. */
  readonly isLater: boolean;
}

/**
 * Waits until marked objects are gone, and shows how many are left.
 *
 * @throws {CliError} if some were pushed again meanwhile, which keeps them. The others are gone.
 */
export async function waitUntilGone(
  { client, context }: { client: ApiClient; context: CliContext },
  wait: { where: string; objects: readonly MarkedObject[]; isQuiet: boolean },
): Promise<void> {
  const { where, objects } = wait;
  const line = new WaitLine(context, wait);
  const kept: string[] = [];
  let left: readonly Going[] = objects.map((object) => ({ ...object, isLater: false }));
  let lookedMs = context.nowMs();
  while (left.length > 0) {
    const nowMs = context.nowMs();
    const isDue = left.some(({ plan }) => Date.parse(plan.dueAt) <= nowMs);
    if (nowMs - lookedMs >= (isDue ? dueLookMs : lookMs)) {
      lookedMs = nowMs;
      const still: Going[] = [];
      for (const object of left) {
        const found = await lookAt(client, object);
        if (found === 'kept') kept.push(object.oid);
        else if (found !== 'gone') still.push(found);
      }
      left = still;
      continue;
    }
    line.show(leftText(left, { nowMs, inPlace: line.inPlace }));
    await context.sleep(redrawMs);
  }
  const goneCount = objects.length - kept.length;
  line.end(`${where}: ${formatObjects(goneCount)} deleted.`);
  if (kept.length === 0) return;
  throw new CliError(`Pushed again meanwhile, and so kept: ${kept.join(' ')}`, {
    hint: 'To delete it all the same, repeat the delete, and let nobody push it before it is due.',
  });
}

/**
 * An object that was pushed again is not marked any more, so with every look it would be due a grace time later. One
 * that is marked keeps its time, but for once: if an upload holds it when it is due, it gets a new one.
 */
async function lookAt(client: ApiClient, object: Going): Promise<Going | 'gone' | 'kept'> {
  const path = `${object.path}?dryRun=true`;
  const plan = await client.find({ method: 'DELETE', path, shape: deletePlanSchema });
  if (plan === undefined) return 'gone';
  const isLater = Date.parse(plan.dueAt) > Date.parse(object.plan.dueAt);
  return isLater && object.isLater ? 'kept' : { ...object, plan, isLater };
}

function leftText(left: readonly Going[], { nowMs, inPlace }: { nowMs: number; inPlace: boolean }): string {
  const bytes = left.reduce((sum, { plan }) => sum + (plan.bytes ?? 0), 0);
  const size = `${formatObjects(left.length)} left, ${formatBytes(bytes)}`;
  const dueAt = left.map(({ plan }) => plan.dueAt).reduce((last, at) => (at > last ? at : last));
  if (Date.parse(dueAt) <= nowMs) return `${size}; gone with the next run of the schedule`;
  return `${size}, due ${inPlace ? formatUntil(dueAt, nowMs) : `at ${dueAt}`}`;
}
