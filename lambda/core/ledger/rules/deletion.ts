import * as z from 'zod';
import { isOid } from '../../rules/names.ts';
import type { Settings } from '../../rules/settings.ts';
import type { Frozen } from '../../rules/stored.ts';
import type { RepoRecord } from './tenant.ts';
import { isRelied, sweepSchema } from './watch.ts';

/** What a deletion's item has as its {@link Deletion} has it. */
export const deletionFields = z.object({
  repo: z.string(),
  state: z.enum(['scheduled', 'deleting', 'deleted']),
  /**
   * gone, of a gc run: what the oids begin with that it has removed, as `prefixText` makes it, instead of `objects`. Each
   * upload batch reads the records of tens of thousands of them, and this takes a seventh of what names take.
   */
  prefixes: z.string().optional(),
  /** A marked deletion may be claimed from this time on. deleting: none of its runs began sooner. */
  dueAtMs: z.number(),
  /**
   * deleting: its deleter deletes no bytes after this. gone: the record is kept until this. marked: that of its last
   * run, by which an entry knows that there was none since it was read. 0: it was never run.
   */
  deadlineMs: z.number(),
  /**
   * Set if it was made to empty a closed repo: which closing that was. Once that has ended, the deletion is void. The write
   * that made it may land once more after the repo was opened, and would delete what was pushed since.
   */
  closedAtMs: z.number().optional(),
  /**
   * Set if somebody asked for it: the closing after which its repo was open then, 0 if it was never closed. The write that
   * made it may land after the repo was emptied and opened, and would delete what was pushed since. Then it is void.
   */
  afterClosingMs: z.number().optional(),
  /** Of files: it cancels their uploads, so it takes the names of those that aren't there. What has arrived stays. */
  onlyNew: z.literal(true).optional(),
  /** Of files: when the newest of them was put. What is newer came after the wish, and stays. */
  newestMs: z.number().optional(),
  /** Of files: it removes the empty objects of this {@link Emptied}, and nothing else. */
  emptied: z.string().optional(),
  /** Set if it is one of a gc run. It deletes only what nobody has named since, and nothing once the watch has ended. */
  sweep: sweepSchema.optional(),
});

/**
 * Objects of one repo that are to be deleted. They are *marked* first, and after a grace time they are claimed as
 * *deleting*. A batch that asks for a marked object unmarks it. A batch that asks for a deleting one is answered 429.
 *
 * Once the objects are *gone*, the record is kept for as long as a batch can run that was told by a listing of before
 * the delete that they are stored. It must find the record.
 */
export interface Deletion extends Frozen<z.output<typeof deletionFields>> {
  readonly id: string;
  /** Name below the repo → bytes. The name is an oid, or whatever else was stored there. */
  readonly objects: ReadonlyMap<string, number>;
  /** In a large repo: what its last run removed, until a reconcile has taken it off the count. */
  readonly removal?: Removal | undefined;
}

export interface DeletionKey {
  readonly tenant: string;
  readonly repo: string;
  readonly deletionId: string;
}

/** What one run of a deletion removed, and what is needed to tell whether it was counted. */
export interface Removal {
  /** The run's deadline. It identifies the run. */
  readonly runMs: number;
  /** Nothing was deleted before this, nor after `endedMs`. */
  readonly beganMs: number;
  readonly endedMs: number;
  /** Name → what the store said of it right before its delete. `lastModifiedMs: null`: it was not there. */
  readonly objects: ReadonlyMap<string, RemovedObject>;
}

export interface RemovedObject {
  readonly sizeBytes: number;
  readonly lastModifiedMs: number | null;
}

/** What the record of a deletion names once a run has removed all of it: batches ask for oids only. */
export function oidsOf(removal: Removal): Map<string, number> {
  const oids = [...removal.objects].filter(([name]) => isOid(name));
  return new Map(oids.map(([oid, { sizeBytes }]) => [oid, sizeBytes]));
}

/**
 * The id of the deletion of one object that a person asked for. There is one for each object, so a batch asks for those
 * of its own objects by their keys. All other ids sort before `~`, so they can be read without these.
 */
export function singleDeletionId(oid: string): string {
  return `${singleIdStart}${oid}`;
}

export const singleIdStart = '~';

/**
 * Stands for an oid where the ledger notes what gc runs have deleted, once a repo was emptied: what they had deleted in it
 * before then tells nothing any more.
 */
export const emptiedName = '~';

/** A marked deletion. */
export function newDeletion(
  input: Omit<Deletion, 'state' | 'deadlineMs' | 'prefixes' | 'removal'>,
): Deletion {
  return { ...input, state: 'scheduled', deadlineMs: 0 };
}

/**
 * Deletions of a tenant, at most: each reconcile reads all of them. Beyond that no single object is marked. Those of a
 * gc run, or of a closed repo, are few at a time.
 */
export const openDeletionsMax = 10_000;

/** How long one run may delete. Each of its DELETE requests is a single attempt that ends by then. */
export const deleteRunMs = 60_000;

/** Objects in one deletion, at most. They share an item of the table. */
export const deletionObjectsMax = 1000;

/**
 * Objects that one write takes out of a deletion, at most: DynamoDB takes no update expression above 4,096 bytes,
 * which 263 objects would fill.
 */
export const unmarkedObjectsMax = 100;

/**
 * True if a deletion may be claimed: its grace time is over, or its deleter must have died. Not while what its last run
 * removed is still counted: the next run would replace that.
 */
export function isClaimable(settings: Settings, deletion: Deletion, nowMs: number): boolean {
  if (deletion.removal) return false;
  switch (deletion.state) {
    case 'scheduled':
      return nowMs >= deletion.dueAtMs;
    case 'deleting':
      return nowMs > deletion.deadlineMs + 2 * settings.clockSkewMs;
    case 'deleted':
      return false;
  }
}

/** A delete that the store has not done for so long is reported each time. After a week it's given up. */
const [reportedAfterMs, givenUpAfterMs] = [60 * 60_000, 7 * 24 * 60 * 60_000];

type Tried = Pick<Deletion, 'state' | 'dueAtMs'>;

/** Whether a run that has ended in nothing is to be reported: it wasn't the first. @param deletion as it was before the run. */
export const isEndless = ({ state, dueAtMs }: Tried, nowMs: number): boolean =>
  state === 'deleting' && nowMs > dueAtMs + reportedAfterMs;

/** Whether it is not tried again. One that nobody has tried for a day is: the server may have been off. */
export const isGivenUp = (deletion: Tried & Pick<Deletion, 'deadlineMs'>, nowMs: number): boolean =>
  deletion.state === 'deleting' &&
  nowMs > deletion.dueAtMs + givenUpAfterMs &&
  nowMs < deletion.deadlineMs + 24 * 60 * 60_000;

/**
 * Whether nothing may be deleted by it: its repo has been emptied and opened since it was asked for, or it is one of a
 * gc run whose watch is not to be relied on any more.
 *
 * @param input.repo read after the deletion was claimed.
 */
export function isVoid(
  settings: Pick<Settings, 'clockSkewMs'>,
  deletion: Deletion,
  {
    repo,
    nowMs,
  }: { repo: Pick<RepoRecord, 'closedAtMs' | 'endedClosingMs' | 'watch'> | undefined; nowMs: number },
): boolean {
  const { closedAtMs, afterClosingMs, sweep } = deletion;
  const { endedClosingMs } = repo ?? {};
  if (closedAtMs !== undefined && closedAtMs !== repo?.closedAtMs) return true;
  // An item that knows of no closing may be a new one: nobody needed the former any more, so none of its writes is late.
  if (afterClosingMs !== undefined && endedClosingMs !== undefined && afterClosingMs !== endedClosingMs)
    return true;
  return sweep !== undefined && !isRelied(settings, repo?.watch, { ...sweep, nowMs });
}

/** Until when the record of objects that were gone by `nowMs` is kept. */
export function keptUntilMs(settings: Settings, nowMs: number): number {
  return nowMs + settings.batchTimeLimitMs + settings.listingTrustMs + 2 * settings.clockSkewMs;
}
