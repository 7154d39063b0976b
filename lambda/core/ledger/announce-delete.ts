import type { CoreDeps } from './core-deps.ts';
import { dirtyTokenOf, type RepoPath } from './rules/tenant.ts';

/**
 * What stands around the bytes' going: the confirmed usage goes down first, and scans that began before are void.
 *
 * @param input.bytes of all that goes.
 * @param input.isRecorded a record tells what goes.
 * @param input.entryCount of what is expected once more.
 * @param act undefined: the store did not answer for all. Then the note stays until it is over, as a delete may land until then.
 * @returns the same.
 * @throws {LedgerUnavailableError}
 */
export async function announced<T>(
  deps: Pick<CoreDeps, 'ledger' | 'ids'>,
  input: RepoPath & { bytes: number; deadlineMs: number; isRecorded: boolean; entryCount?: number },
  act: () => Promise<T | undefined>,
): Promise<T | undefined> {
  const { ledger, ids } = deps;
  const { tenant, repo, bytes, deadlineMs, isRecorded, entryCount } = input;
  const intentId = ids.random(12);
  const note = { repo, bytes, deadlineMs };
  await ledger.announceDelete({ tenant, intentId, note, ...(entryCount !== undefined && { entryCount }) });
  const done = await act();
  await markDirty(deps, { tenant, repo, isRecorded });
  if (done !== undefined) await ledger.removeIntent({ tenant, intentId });
  return done;
}

/** Every run sets a new token: a scan that began before cannot clear it. */
export async function markDirty(
  { ledger, ids }: Pick<CoreDeps, 'ledger' | 'ids'>,
  { isRecorded, ...path }: RepoPath & { isRecorded: boolean },
): Promise<void> {
  const mark = (known: boolean) =>
    ledger.markDirty({ ...path, dirtyToken: dirtyTokenOf({ random: ids.random(12), isRecorded: known }) });
  // A token that says that something unknown changed is replaced by another one that does.
  if ((await mark(isRecorded)) === 'refused') await mark(false);
}
