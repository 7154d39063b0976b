import type { Action } from './scenario.ts';
import { minute, oids, plainStage, pushed, type Story } from './story.ts';

/** What may become of uploads that finished, before a scan finds that their reservation is lapsed. */

/** Somebody pushes, and is still held to account for it when it's deleted. */
const pushedAnd = (deleted: Action): Story => ({
  tenants: [{ limitBytes: 100, imported: [] }],
  sizes: oids.map(() => 30),
  stage: {
    ...plainStage,
    cancelsAfterMs: [],
    isSlow: false,
    areFilesLost: false,
    makers: 1,
    scheduleMinutes: 15,
    settings: { putMinBytesPerSecond: 1_000_000 },
  },
  actions: [{ ...pushed(0, 'at-once', 0), verify: true }, deleted],
});

export const pushedAndDeleted = pushedAnd({
  kind: 'delete-object',
  tenant: 0,
  afterMs: minute,
  repo: 0,
  oid: 0,
  contested: false,
});

export const pushedAndEmptied = pushedAnd({ kind: 'delete-repo', tenant: 0, afterMs: minute, repo: 0 });

/** The run begins when nothing can bring back what was pushed. */
export const pushedAndCollected = pushedAnd({
  kind: 'gc',
  tenant: 0,
  afterMs: 23 * minute,
  repo: 0,
  keep: [],
  isCancelled: false,
});
