import * as z from 'zod';
import type { Settings } from '../../rules/settings.ts';
import type { Frozen } from '../../rules/stored.ts';

/**
 * While a repo has an open watch, each upload batch notes which objects it names: docs/how-it-works.md.
 *
 * A push names its objects first, and moves its ref last. If an object is stored already, nothing is uploaded, and
 * neither a time nor a reservation shows that the push relies on it. Only the batch knows, so the batch writes it down.
 * Hence the order: open the watch, wait until pushes that began before it have ended (`gcWatchMs`), and only then
 * list the refs.
 */
export const watchSchema = z.object({
  id: z.string(),
  /** Later than that of any watch which the repo had before. */
  openedAtMs: z.number(),
  /** It ends by itself then, in case that nobody ends it. */
  untilMs: z.number(),
  /**
   * Every batch that meets its deletions understands records by prefixes. Absent: a version that doesn't has opened it, and
   * may still run.
   */
  hasPrefixes: z.boolean().optional(),
});
export type Watch = Frozen<z.output<typeof watchSchema>>;

/** What makes a deletion one of a gc run. */
export const sweepSchema = z.object({
  /** The deletion is void without this watch. */
  watchId: z.string(),
  /** What batches have named since then is not deleted. All that they named before was looked at. */
  seenFromMs: z.number(),
  /** Of the run's rule, for whoever misses what it freed: `DAYS/VERSIONS`. Absent: it has none. */
  rule: z.string().optional(),
});

/** What one batch names. */
export const seenSchema = z.object({
  /** When the batch began, by its clock. */
  beganMs: z.number(),
  /** The first bytes of the oids: `prefixesOf`. */
  prefixes: z.string(),
});
export type SeenNote = Frozen<z.output<typeof seenSchema>>;

/** Whether a batch has to note what it names. */
export function isNoting(watch: Watch | undefined, nowMs: number): watch is Watch {
  return watch !== undefined && nowMs <= watch.untilMs;
}

/**
 * Whether every batch that reads deletions from now on and did not note what it names has begun so early that it does
 * not matter: the watch is open, and no clock says that it has ended.
 *
 * @param watch as read after the deletion was claimed.
 */
export function isRelied(
  settings: Pick<Settings, 'clockSkewMs'>,
  watch: Watch | undefined,
  { watchId, nowMs }: { watchId: string; nowMs: number },
): boolean {
  return watch?.id === watchId && nowMs < watch.untilMs - 2 * settings.clockSkewMs;
}

/**
 * Since when what batches named has to be read anew, after all of it was read at a time. An earlier batch had noted it
 * before that time, or its client gets no answer.
 */
export function seenAgainFromMs(
  { batchTimeLimitMs, clockSkewMs }: Pick<Settings, 'batchTimeLimitMs' | 'clockSkewMs'>,
  readAtMs: number,
): number {
  return readAtMs - batchTimeLimitMs - 2 * clockSkewMs;
}
