import { type Deletion, deleteRunMs, isClaimable, keptUntilMs } from '../../domain/deletion.ts';
import { deletionPrefix } from '../../domain/names.ts';
import { isDead, type Reservation, sumClaims } from '../../domain/reservation.ts';
import { StoreUnavailableError } from '../../ports/object-store.ts';
import { allPages } from '../all-pages.ts';
import type { Deps } from '../deps.ts';
import { mapLimited } from '../map-limited.ts';

export type DeletionDeps = Pick<Deps, 'ledger' | 'store' | 'clock' | 'ids' | 'log' | 'settings'>;

const deletesAtOnce = 16;

export type DeletionRun =
  /** All is gone but what live reservations hold; that is marked again. */
  | { readonly kind: 'ended'; readonly heldCount: number }
  /** Some deletes were not answered: they are tried again once none of them can still land. */
  | { readonly kind: 'unanswered' }
  /** Another runs it, or it was changed meanwhile. */
  | { readonly kind: 'refused' };

/**
 * Runs a tenant's deletions whose grace is over, and those that a deleter died over; clears away the records of
 * what has been gone for long enough.
 *
 * @param input.untilMs no other is begun after that.
 * @returns whether all of them were begun.
 */
export async function runDeletions(
  deps: DeletionDeps,
  input: { tenant: string; untilMs: number },
): Promise<boolean> {
  const { tenant, untilMs } = input;
  const { ledger, clock, settings } = deps;
  for (const deletion of await allPages(ledger.deletions(tenant))) {
    const nowMs = clock.nowMs();
    if (nowMs > untilMs) return false;
    if (deletion.state === 'gone' && nowMs > deletion.deadlineMs)
      await ledger.removeDeletion({ tenant, repo: deletion.repo, deletionId: deletion.id });
    if (isClaimable(settings, deletion, nowMs))
      await runDeletion(deps, { tenant, deletion, isClosed: false });
  }
  return true;
}

/**
 * Deletes what one deletion names, but for what a live reservation holds: its URL could bring it back
 * uncounted, so that waits for its death.
 *
 *     claim ─ announce ─ delete the bytes ─ mark the repo dirty ─ remove the note ─ end
 *             floor goes down first          a scan before is void
 *
 * Dying anywhere leaves the claim, and after the announcement a note, both with a deadline; after it the
 * deletion is claimed again, and a reconcile finds the note and scans the repo.
 *
 * @param input.isClosed the repo is closed: nobody is told any more what is stored in it, so no record is kept
 * of what is gone.
 */
export async function runDeletion(
  deps: DeletionDeps,
  input: { tenant: string; deletion: Deletion; isClosed: boolean },
): Promise<DeletionRun> {
  const { ledger, clock } = deps;
  const { tenant } = input;
  const deadlineMs = clock.nowMs() + deleteRunMs;
  const claim = await ledger.claimDeletion({ tenant, before: input.deletion, deadlineMs });
  if (claim.kind === 'refused') return claim;
  const { id, repo, objects } = claim.deletion;

  // Read after the claim: whoever reserves later meets the claim, and waits.
  const holders = await liveHolders(deps, { tenant, repo });
  const held = new Set(holders.flatMap((reservation) => [...reservation.claims.keys()]));
  const going = new Map([...objects].filter(([name]) => !held.has(name)));
  if (going.size > 0) {
    const noteId = deps.ids.random(12);
    await ledger.announceDelete({ tenant, noteId, note: { repo, bytes: sumClaims(going), deadlineMs } });
    const isClean = await deleteBytes(deps, { tenant, repo, names: [...going.keys()], deadlineMs });
    // A new mark each time: a scan that began before it can't clear it.
    await ledger.markDirty({ tenant, repo, dirtyToken: deps.ids.random(12) });
    // A delete without an answer may still land, up to the deadline: note and claim stay until then.
    if (!isClean) return { kind: 'unanswered' };
    await ledger.removeNote({ tenant, noteId });
  }
  const left = new Map([...objects].filter(([name]) => held.has(name)));
  const dueAtMs = Math.max(0, ...holders.map((reservation) => reservation.deadAtMs));
  const keptMs = input.isClosed ? null : keptUntilMs(deps.settings, clock.nowMs());
  await ledger.endDeletion({ tenant, repo, deletionId: id, deadlineMs, left, dueAtMs, keptUntilMs: keptMs });
  deps.log.info('deleted', {
    tenant,
    repo,
    objectCount: going.size,
    bytes: sumClaims(going),
    held: left.size,
  });
  return { kind: 'ended', heldCount: left.size };
}

/** Live reservations of a repo, pending ones too. */
export async function liveHolders(
  deps: Pick<Deps, 'ledger' | 'clock'>,
  path: { tenant: string; repo: string },
): Promise<Reservation[]> {
  const reservations = await allPages(deps.ledger.reservations(path.tenant));
  const nowMs = deps.clock.nowMs();
  return reservations.filter((reservation) => reservation.repo === path.repo && !isDead(reservation, nowMs));
}

/** @returns whether every delete was answered. */
async function deleteBytes(
  deps: DeletionDeps,
  input: { tenant: string; repo: string; names: readonly string[]; deadlineMs: number },
): Promise<boolean> {
  const { tenant, repo, deadlineMs } = input;
  const answered = await mapLimited(input.names, deletesAtOnce, async (name) => {
    try {
      await deps.store.delete(`${deletionPrefix({ tenant, repo })}${name}`, { deadlineMs });
      return true;
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error;
      return false;
    }
  });
  const failed = answered.filter((ok) => !ok).length;
  if (failed > 0) deps.log.warn('deletes were not answered; they are tried again', { tenant, repo, failed });
  return failed === 0;
}
