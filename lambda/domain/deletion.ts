import type { Settings } from './settings.ts';

/**
 * Objects of one repo that are to go, in two steps: *marked*, and after a grace time claimed as *deleting*.
 * A batch that meets a marked object unmarks it, and one that meets a deleting one waits. Once they are *gone*,
 * the record is kept for as long as a batch can run that asked the store before: it, too, must find out.
 */
export interface Deletion {
  readonly id: string;
  readonly repo: string;
  readonly state: 'marked' | 'deleting' | 'gone';
  /** Name below the repo (an oid, or whatever else lies there) → bytes. */
  readonly objects: ReadonlyMap<string, number>;
  /** A marked deletion may be claimed from then on. */
  readonly dueAtMs: number;
  /** Of a deleting one: its deleter touches no byte after this. Of one that is gone: kept until then. 0 while marked. */
  readonly deadlineMs: number;
}

/** How long one run may delete. Its requests are single attempts that end by then. */
export const deleteRunMs = 60_000;

/** Objects in one deletion at the most: they share an item of the table. */
export const deletionObjectsMax = 1000;

/** True where a deletion may be claimed: its grace is over, or its deleter must have died. */
export function isClaimable(settings: Settings, deletion: Deletion, nowMs: number): boolean {
  switch (deletion.state) {
    case 'marked':
      return nowMs >= deletion.dueAtMs;
    case 'deleting':
      return nowMs > deletion.deadlineMs + 2 * settings.clockSkewMs;
    case 'gone':
      return false;
  }
}

/** Until when the record of objects that went by `nowMs` is kept. */
export function keptUntilMs(settings: Settings, nowMs: number): number {
  return nowMs + settings.batchTimeLimitMs + 2 * settings.clockSkewMs;
}
