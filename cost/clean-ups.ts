import { addCosts, type CostBasis, noCost, operationCost, scaleCost } from './operation-cost.ts';
import { type Operation, recount } from './operations.ts';
import type { TableSizes } from './table-units.ts';

/** What a clean-up takes ({@link file://../docs/gc.md}). `test/unit/cost/clean-ups.test.ts` compares the calls with the handlers. */

const managed = { findToken: 1, readTenant: 1 } as const;
const audited = { beginAudit: 1, finishAudit: 1 } as const;
const asked = { function: 'management', headRounds: 0, listRounds: 0 } as const;

/** Opens the watch. */
export function openCleanUp(): Operation {
  const calls = { ...managed, ...audited, readRepo: 1, openWatch: 1, readCleanup: 1, putCleanup: 1 };
  return { ...asked, calls, tableRounds: 8 };
}

/** Asks for the URL to which the keep-set is sent. */
export function signKeepSet(): Operation {
  return { ...asked, calls: { ...managed, ...audited, readCleanup: 1 }, tableRounds: 5 };
}

/** Asks for a run. */
export function startCleanUp(): Operation {
  const calls = { ...managed, ...audited, readCleanup: 1, putCleanup: 1, SEND: 1 };
  return { ...asked, calls, tableRounds: 7 };
}

/** Asks how far it is. */
export function showCleanUp(): Operation {
  return { ...asked, calls: { ...managed, readCleanup: 1 }, tableRounds: 3 };
}

/** Candidates of one deletion, which one request deletes. */
const pieceObjects = 1000;
/** A repo is listed by the first digits of its oids. */
const digits = 16;
const pageObjects = 1000;
/** Candidates in one file. */
const fileObjects = 10_000;

/** What a run that deletes finds. */
export interface CleanUpShape {
  /** Objects of the repo before it. */
  readonly repoObjects: number;
  /** Objects that it deletes. */
  readonly gone: number;
}

/** The message of the queue that lists the repo, deletes, and counts what is left. */
export function cleanUpRun({ repoObjects, gone }: CleanUpShape): Operation {
  const pieces = Math.ceil(gone / pieceObjects);
  const files = Math.ceil(gone / fileObjects);
  const pages = Math.max(1, Math.ceil(repoObjects / digits / pageObjects));
  const counted = recount({ repos: gone > 0 ? [repoObjects - gone] : [], isFull: false, dead: 0 });
  const { calls } = counted;
  return {
    function: 'reconcile',
    calls: {
      ...calls,
      readCleanup: 1,
      // It is looked at, has selected, is looked at again, has deleted each piece, is done and tidied up.
      putCleanup: 5 + pieces,
      closeWatch: 1,
      listExports: 1,
      seen: 2 + pieces,
      reservationsOf: 1 + pieces,
      // The budget of LISTs is read before a step, and charged after it.
      readTenant: (calls.readTenant ?? 0) + 2 + pieces,
      setLease: 1,
      deletionsNaming: pieces,
      putDeletion: pieces,
      claimDeletion: pieces,
      readRepo: 2 * pieces,
      announceDelete: pieces,
      markDirty: pieces,
      removeNote: pieces,
      noteGone: gone,
      endDeletion: pieces,
      LIST: (calls.LIST ?? 0) + digits * pages,
      // The keep-set, and the candidates.
      GET: 1 + files,
      PUT: files,
      // The files go by one, too.
      DELETE: pieces + 1,
    },
    tableRounds: counted.tableRounds + 14 + 13 * pieces,
    headRounds: 2 + 2 * files + pieces,
    listRounds: counted.listRounds + pages,
  };
}

/** What one clean-up costs, without the pushes that name objects meanwhile. @param polls how often its state is read. */
export function cleanUpCost(
  shape: CleanUpShape,
  { polls, sizes, basis }: { polls: number; sizes: TableSizes; basis: CostBasis },
) {
  const deleting = Math.min(shape.gone, pieceObjects);
  const run = operationCost(cleanUpRun(shape), { ...sizes, deleting }, basis);
  const requests = [openCleanUp(), signKeepSet(), startCleanUp()].map((each) =>
    operationCost(each, sizes, basis),
  );
  const keepSet = { ...noCost, store: basis.store.putOrList };
  const shown = scaleCost(operationCost(showCleanUp(), sizes, basis), polls);
  return { asked: addCosts([...requests, keepSet, shown]), run };
}
